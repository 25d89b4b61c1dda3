import { describe, expect, it } from 'vitest'
import type { Session } from 'turnloom'
import { trees } from '../src/lib/nesting'

const session = (session_id: string, parent_session_id?: string) =>
  ({ session_id, ...(parent_session_id ? { parent_session_id } : {}) }) as unknown as Session
const drawn = (sessions: Session[]) =>
  trees(sessions).map((tree) => tree.map((row) => `${'-'.repeat(row.depth)}${row.session.session_id}`).join(' '))

describe('sessions that work for others', () => {
  it('stand below them, in the order of the list', () => {
    expect(drawn([session('b1', 'b'), session('a'), session('b'), session('b2', 'b'), session('b11', 'b1')])).toEqual([
      'a',
      'b -b1 --b11 -b2',
    ])
  })
  it('stand alone where those are not in the list, and in no circle', () => {
    expect(drawn([session('x', 'gone'), session('y', 'y')])).toEqual(['x', 'y'])
    expect(drawn([session('x', 'y'), session('y', 'x')])).toEqual(['x -y'])
  })
})
