import { describe, expect, it } from 'vitest'
import type { Ask, PermissionBlock } from 'turnloom'
import { equalAsks } from '../src/lib/equalAsks'

const request = (tool_name: string, command: string, sha?: string) => ({
  tool_name,
  tool_input: { command },
  ...(sha ? { judged: { input_sha256: sha } } : {}),
})
const ask = (ask_id: string, request: object, kind = 'permission') => ({ ask_id, kind, request }) as unknown as Ask
const block = (ask_id: string, request: object) => ({ ask_id, ...request }) as unknown as PermissionBlock

describe('asks that wait for the same', () => {
  const ids = (wanted: PermissionBlock, asks: Ask[]) => equalAsks(wanted, asks).map((ask) => ask.ask_id)

  it('have the same tool and the same input, and are not the ask itself', () => {
    const asks = [
      ask('a', request('Bash', 'ls')),
      ask('b', request('Bash', 'ls')),
      ask('c', request('Bash', 'ls -l')),
      ask('d', request('Run', 'ls')),
      ask('e', request('Bash', 'ls'), 'question'),
    ]
    expect(ids(block('a', request('Bash', 'ls')), asks)).toEqual(['b'])
  })

  it('are compared by the digest that the rules saw', () => {
    const asks = [ask('b', request('Bash', 'cut…', '11')), ask('c', request('Bash', 'cut…', '22'))]
    expect(ids(block('a', request('Bash', 'cut…', '11')), asks)).toEqual(['b'])
  })
})
