// The four rules by which a view is brought forward, and how one is made equal to a newer snapshot.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { apply, reconcile } from 'turnloom/view'

const start = () => ({
  seq: 1,
  asks: [],
  plan: null,
  components: [{ component_id: 'chart', status: 'loading', error: 'none' }],
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

const subagent = (view) => view.messages[1].blocks[1].blocks[0].blocks

/** What is tried, the changes, where to look, what is there then. */
const cases = [
  [
    'append',
    [{ op: 'append', path: ['m2', 'b2'], field: 'text', text: ' two' }],
    (v) => v.messages[1].blocks[0].text,
    'one two',
  ],
  [
    'append to nothing',
    [{ op: 'append', path: ['m2', 'b2'], field: 'live', text: 'x' }],
    (v) => v.messages[1].blocks[0],
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
    (v) => v.messages[1].blocks[0],
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
    (v) => v.messages[1].blocks[0],
    { id: 'b2', kind: 'text', text: 'one', blocks: [{ id: 'x' }] },
  ],
  [
    'append deep inside',
    [{ op: 'append', path: ['m2', 's', 's2', 'deep'], field: 'text', text: 'b' }],
    subagent,
    [{ id: 'deep', kind: 'text', text: 'ab' }],
  ],
  ['insert deep inside', [{ op: 'insert', path: ['m2', 's', 's2'], node: { id: 'n' } }], (v) => subagent(v).length, 2],
  ['remove deep inside', [{ op: 'remove', path: ['m2', 's', 's2', 'deep'] }], subagent, []],
  [
    'insert a component',
    [{ op: 'insert', path: ['@components'], node: { component_id: 'plan', props: {} } }],
    (v) => v.components.map((c) => c.component_id),
    ['chart', 'plan'],
  ],
  [
    'set on a component',
    [{ op: 'set', path: ['@components', 'chart'], fields: { status: 'ready', error: null } }],
    (v) => v.components[0],
    { component_id: 'chart', status: 'ready' },
  ],
  ['remove a component', [{ op: 'remove', path: ['@components', 'chart'] }], (v) => v.components, []],
  ['remove a message', [{ op: 'remove', path: ['m1'] }], (v) => v.messages.map((m) => m.id), ['m2']],
]

describe('apply', () => {
  for (const [name, ops, look, expected] of cases) {
    test(name, () => {
      const view = start()
      for (const op of ops) apply(view, op)
      assert.deepEqual(look(view), expected)
    })
  }

  test('what is outside of the window is left alone', () => {
    const outside = [
      { op: 'append', path: ['gone', 'b'], field: 'text', text: 'x' },
      { op: 'set', path: ['m2', 'gone'], fields: { a: 1 } },
      { op: 'insert', path: ['gone'], node: { id: 'x' } },
      { op: 'remove', path: ['gone'] },
      { op: 'remove', path: ['m2', 'gone', 'deeper'] },
      { op: 'remove', path: [] },
    ]
    for (const op of outside) {
      const view = start()
      apply(view, op)
      assert.deepEqual(view, start(), JSON.stringify(op))
    }
  })

  test('finds the newest of the same id', () => {
    const view = {
      messages: [
        { id: 'm', n: '' },
        { id: 'm', n: '' },
      ],
    }
    apply(view, { op: 'append', path: ['m'], field: 'n', text: 'x' })
    assert.deepEqual(
      view.messages.map((message) => message.n),
      ['', 'x'],
    )
  })
})

describe('reconcile', () => {
  test('equals the snapshot and keeps objects that did not change', () => {
    const view = start()
    const [first, second] = view.messages
    const text = second.blocks[0]
    const fresh = start()
    fresh.seq = 9
    fresh.messages[1].blocks.push({ id: 'b9', kind: 'text', text: 'new' })
    fresh.messages[1].blocks[0].text = 'one two'
    reconcile(view, structuredClone(fresh))
    assert.deepEqual(view, fresh)
    assert.equal(view.messages[0], first)
    assert.equal(view.messages[1], second)
    assert.equal(view.messages[1].blocks[0], text)
  })

  test('keeps older pages when they join, drops them when there is a gap', () => {
    const message = (id) => ({ id, blocks: [] })
    const held = () => ({ seq: 1, before: 'a', messages: ['a', 'b', 'c'].map(message) })
    const joined = held()
    reconcile(joined, { seq: 2, before: 'c', messages: ['c', 'd'].map(message) })
    assert.deepEqual([joined.before, joined.messages.map((m) => m.id)], ['a', ['a', 'b', 'c', 'd']])
    const apart = held()
    reconcile(apart, { seq: 2, before: 'x', messages: ['x', 'y'].map(message) })
    assert.deepEqual([apart.before, apart.messages.map((m) => m.id)], ['x', ['x', 'y']])
  })

  test('removes what a rollback took', () => {
    const view = start()
    reconcile(view, { seq: 2, messages: [start().messages[0]] })
    assert.deepEqual(view, { seq: 2, messages: [start().messages[0]] })
  })
})
