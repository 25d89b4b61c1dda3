// Patches and the five ways in which props change.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { applyPatch, makePatch, mergeProps, PatchError } from 'turnloom'

const BASE = { type: 'bar', data: [1], opts: { a: 1, b: 2 }, text: 'Hel' }

const merges = {
  'replace: props instead of all': [{ mode: 'replace', props: { data: [2] } }, { data: [2] }],
  'merge false is replace': [{ merge: false, props: { data: [2] } }, { data: [2] }],
  'shallow: key by key': [
    { mode: 'shallow', props: { data: [2], opts: { c: 3 } } },
    { type: 'bar', data: [2], opts: { c: 3 }, text: 'Hel' },
  ],
  'merge true is shallow, and null is a value': [
    { merge: true, props: { text: null } },
    { ...BASE, text: null },
  ],
  'deep: objects merge, null removes': [
    { mode: 'deep', props: { opts: { b: null, c: 3 } } },
    { ...BASE, opts: { a: 1, c: 3 } },
  ],
  'deep: lists are replaced': [
    { mode: 'deep', props: { data: [{ x: null }] } },
    { ...BASE, data: [{ x: null }] },
  ],
  'deep: null in something new removes too': [
    { mode: 'deep', props: { more: { a: null, b: 1 } } },
    { ...BASE, more: { b: 1 } },
  ],
  'append: lists and texts are joined': [
    { mode: 'append', props: { data: [2, 3], text: 'lo' } },
    { ...BASE, data: [1, 2, 3], text: 'Hello' },
  ],
  'append: all else is replaced': [
    { mode: 'append', props: { opts: 1, data: 'x', more: [1] } },
    { ...BASE, opts: 1, data: 'x', more: [1] },
  ],
  patch: [
    { mode: 'patch', props: {}, patch: [{ op: 'add', path: '/data/-', value: 2 }] },
    { ...BASE, data: [1, 2] },
  ],
  'a patch that does not fit changes nothing': [
    {
      mode: 'patch',
      patch: [
        { op: 'remove', path: '/type' },
        { op: 'remove', path: '/nowhere' },
      ],
    },
    BASE,
  ],
  'a patch that leaves no object changes nothing': [
    { mode: 'patch', patch: [{ op: 'replace', path: '', value: 1 }] },
    BASE,
  ],
  'a patch that is none changes nothing': [{ mode: 'patch', patch: 'all' }, BASE],
  'the mode counts, not merge': [
    { mode: 'append', merge: false, props: { text: 'p' } },
    { ...BASE, text: 'Help' },
  ],
}
for (const [name, [change, expected]] of Object.entries(merges)) {
  test(`props, ${name}`, () => {
    const base = structuredClone(BASE)
    assert.deepEqual(mergeProps(base, change), expected)
    assert.deepEqual(base, BASE, 'what was given is as it was')
  })
}

test('props that are not there begin empty, and what is no object is none', () => {
  assert.deepEqual(mergeProps(undefined, { mode: 'append', props: { text: 'a' } }), { text: 'a' })
  assert.deepEqual(mergeProps(7, { mode: 'shallow', props: { a: 1 } }), { a: 1 })
  assert.deepEqual(mergeProps({ a: 1 }, { mode: 'replace', props: 'x' }), { a: 1 })
  assert.deepEqual(mergeProps({ a: 1 }, { mode: 'replace', props: null }), {})
})

test('no change reaches the prototype of anything', () => {
  const hostile = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
  for (const mode of ['replace', 'shallow', 'deep', 'append']) mergeProps({ a: 1 }, { mode, props: hostile })
  mergeProps({}, { mode: 'patch', patch: [{ op: 'add', path: '/__proto__/polluted', value: true }] })
  const own = applyPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }])
  assert.deepEqual(Object.keys(own), ['__proto__'])
  assert.throws(() => applyPatch({}, [{ op: 'add', path: '/constructor/prototype/polluted', value: true }]), PatchError)
  assert.equal({}.polluted, undefined)
})

const patches = [
  [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  [[1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
  [{ 'a/b': { '~': 1 } }, [{ op: 'remove', path: '/a~1b/~0' }], { 'a/b': {} }],
  [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
  [{ a: [1] }, [{ op: 'copy', from: '/a', path: '/a/-' }], { a: [1, [1]] }],
  [{ a: 1 }, [{ op: 'replace', path: '', value: null }], null],
  [{ a: { x: 1, y: [2] } }, [{ op: 'test', path: '/a', value: { y: [2], x: 1 } }], { a: { x: 1, y: [2] } }],
]
for (const [at, [before, patch, after]] of patches.entries()) {
  test(`a patch is applied (${at})`, () => assert.deepEqual(applyPatch(before, patch), after))
}

const misfits = [
  [{ op: 'remove', path: '/b' }, /leads nowhere/],
  [{ op: 'replace', path: '/b', value: 1 }, /leads nowhere/],
  [{ op: 'add', path: '/list/9', value: 1 }, /no place/],
  [{ op: 'add', path: '/list/01', value: 1 }, /no place/],
  [{ op: 'add', path: 'a', value: 1 }, /JSON Pointer/],
  [{ op: 'add', path: '/a' }, /no value/],
  [{ op: 'add', path: '/a/b', value: 1 }, /leads nowhere/],
  [{ op: 'test', path: '/a', value: 2 }, /something else/],
  [{ op: 'move', from: '/list', path: '/list/0' }, /into itself/],
  [{ op: 'grow', path: '/a' }, /no operation/],
  [null, /not an object/],
]
for (const [operation, message] of misfits) {
  test(`a patch that does not fit says so: ${JSON.stringify(operation)}`, () => {
    assert.throws(() => applyPatch({ a: 1, list: [1] }, [operation]), { name: 'PatchError', message })
  })
}

/** A document at random, the same for each seed. */
function documents(seed) {
  let state = seed
  const random = (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state % below
  }
  const make = (depth) => {
    const kind = random(depth > 3 ? 4 : 6)
    if (kind < 4) return [null, random(3), `t${random(3)}`, random(2) === 0][kind]
    if (kind === 4) return Array.from({ length: random(5) }, () => make(depth + 1))
    return Object.fromEntries(Array.from({ length: random(5) }, () => [`k/${random(4)}`, make(depth + 1)]))
  }
  return () => make(0)
}

test('the patch between two documents leads from one to the other', () => {
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const next = documents(seed)
    const [from, to] = [next(), next()]
    const before = JSON.stringify(from)
    assert.deepEqual(applyPatch(from, makePatch(from, to)), to, `seed ${seed}`)
    assert.equal(JSON.stringify(from), before)
    assert.deepEqual(makePatch(to, structuredClone(to)), [])
  }
})

test('a patch says only what is different', () => {
  const from = { rows: [{ id: 1 }, { id: 2 }, { id: 3 }], city: 'Ghent' }
  assert.deepEqual(makePatch(from, { ...from, rows: [{ id: 1 }, { id: 2, sky: 'clear' }, { id: 3 }] }), [
    { op: 'add', path: '/rows/1/sky', value: 'clear' },
  ])
  assert.deepEqual(makePatch(from, { ...from, rows: [{ id: 1 }, { id: 3 }] }), [{ op: 'remove', path: '/rows/1' }])
  assert.deepEqual(makePatch({ a: undefined, b: 1 }, { b: 1, c: undefined }), [])
})
