import { describe, expect, it } from 'vitest'
import { apply, reconcile, type Op } from '../src/lib/view'

const start = () => ({
  seq: 1,
  asks: [] as unknown[],
  plan: null as unknown,
  messages: [
    { id: 'm1', role: 'user', content: 'hi', blocks: [{ id: 'b1', kind: 'text', text: 'hi' }] },
    {
      id: 'm2',
      role: 'agent',
      content: '',
      blocks: [
        { id: 'b2', kind: 'text', text: 'one' },
        {
          id: 's',
          kind: 'subagent',
          blocks: [{ id: 's2', kind: 'subagent', blocks: [{ id: 'deep', kind: 'text', text: 'a' }] }],
        },
      ],
    },
  ],
})

type Held = ReturnType<typeof start>
const subagent = (view: Held) => (view.messages[1]?.blocks[1] as { blocks: { blocks: unknown[] }[] }).blocks[0]?.blocks

const cases: [string, Op[], (view: Held) => unknown, unknown][] = [
  [
    'append',
    [{ op: 'append', path: ['m2', 'b2'], field: 'text', text: ' two' }],
    (v) => v.messages[1]?.blocks[0]?.text,
    'one two',
  ],
  [
    'append to nothing',
    [{ op: 'append', path: ['m2', 'b2'], field: 'live', text: 'x' }],
    (v) => v.messages[1]?.blocks[0],
    { id: 'b2', kind: 'text', text: 'one', live: 'x' },
  ],
  [
    'set on the view',
    [{ op: 'set', path: [], fields: { plan: { steps: [] }, asks: [1] } }],
    (v) => [v.plan, v.asks],
    [{ steps: [] }, [1]],
  ],
  [
    'null removes',
    [{ op: 'set', path: ['m2', 'b2'], fields: { text: null, done: true } }],
    (v) => v.messages[1]?.blocks[0],
    { id: 'b2', kind: 'text', done: true },
  ],
  [
    'insert a message',
    [{ op: 'insert', path: [], node: { id: 'm3', role: 'agent', blocks: [] } }],
    (v) => v.messages.map((m) => m.id),
    ['m1', 'm2', 'm3'],
  ],
  [
    'insert into what had no children',
    [{ op: 'insert', path: ['m2', 'b2'], node: { id: 'x' } }],
    (v) => v.messages[1]?.blocks[0],
    { id: 'b2', kind: 'text', text: 'one', blocks: [{ id: 'x' }] },
  ],
  [
    'append deep inside',
    [{ op: 'append', path: ['m2', 's', 's2', 'deep'], field: 'text', text: 'b' }],
    subagent,
    [{ id: 'deep', kind: 'text', text: 'ab' }],
  ],
  ['insert deep inside', [{ op: 'insert', path: ['m2', 's', 's2'], node: { id: 'n' } }], (v) => subagent(v)?.length, 2],
  ['remove deep inside', [{ op: 'remove', path: ['m2', 's', 's2', 'deep'] }], subagent, []],
  ['remove a message', [{ op: 'remove', path: ['m1'] }], (v) => v.messages.map((m) => m.id), ['m2']],
]

describe('apply', () => {
  it.each(cases)('%s', (_, ops, look, expected) => {
    const view = start()
    for (const op of ops) apply(view, op)
    expect(look(view)).toEqual(expected)
  })

  it.each<Op>([
    { op: 'append', path: ['gone', 'b'], field: 'text', text: 'x' },
    { op: 'set', path: ['m2', 'gone'], fields: { a: 1 } },
    { op: 'insert', path: ['gone'], node: { id: 'x' } },
    { op: 'remove', path: ['gone'] },
    { op: 'remove', path: ['m2', 'gone', 'deeper'] },
    { op: 'remove', path: [] },
  ])('ignores what is outside of the window: $op $path', (op) => {
    const view = start()
    apply(view, op)
    expect(view).toEqual(start())
  })

  it('finds the newest of the same id', () => {
    const view = {
      messages: [
        { id: 'm', n: '' },
        { id: 'm', n: '' },
      ],
    }
    apply(view, { op: 'append', path: ['m'], field: 'n', text: 'x' })
    expect(view.messages.map((message) => message.n)).toEqual(['', 'x'])
  })
})

describe('reconcile', () => {
  it('equals the snapshot and keeps objects that did not change', () => {
    const view = start()
    const [first, second] = view.messages
    const text = second?.blocks[0]
    const fresh = start()
    fresh.seq = 9
    fresh.messages[1]?.blocks.push({ id: 'b9', kind: 'text', text: 'new' })
    if (fresh.messages[1]?.blocks[0]) fresh.messages[1].blocks[0].text = 'one two'
    reconcile(view, structuredClone(fresh))
    expect(view).toEqual(fresh)
    expect(view.messages[0]).toBe(first)
    expect(view.messages[1]).toBe(second)
    expect(view.messages[1]?.blocks[0]).toBe(text)
  })

  it('keeps older pages when they join, drops them when there is a gap', () => {
    const message = (id: string) => ({ id, blocks: [] })
    const held = () => ({ seq: 1, before: 'a', messages: ['a', 'b', 'c'].map(message) })
    const joined = held()
    reconcile(joined, { seq: 2, before: 'c', messages: ['c', 'd'].map(message) })
    expect([joined.before, joined.messages.map((m) => m.id)]).toEqual(['a', ['a', 'b', 'c', 'd']])
    const apart = held()
    reconcile(apart, { seq: 2, before: 'x', messages: ['x', 'y'].map(message) })
    expect([apart.before, apart.messages.map((m) => m.id)]).toEqual(['x', ['x', 'y']])
  })

  it('removes what a rollback took', () => {
    const view = start()
    reconcile(view, { seq: 2, messages: [start().messages[0]] })
    expect(view).toEqual({ seq: 2, messages: [start().messages[0]] })
  })
})
