import { describe, expect, it } from 'vitest'
import { answerWords } from '../../src/lib/components/answers'
import { answerOf, optionsOf } from '../../src/lib/components/approval'
import { patchOf, valueAtPointer } from '../../src/lib/components/edits'
import { draftOf, fieldsFrom, formFor, hintOf, readForm, type Field } from '../../src/lib/components/form'
import { afterAct, moved, stepsOf } from '../../src/lib/components/steps'

const field = (schema: unknown, widget?: string): Field => {
  const [one] = fieldsFrom({
    schema: { type: 'object', properties: { f: schema } },
    widgets: widget ? { f: widget } : {},
  })
  if (!one) throw new Error('no field')
  return one
}

describe('a form from a schema', () => {
  it.each([
    [{ type: 'string' }, 'text', 'text', 'text'],
    [{ type: 'string', maxLength: 2_000 }, 'text', 'textarea', 'text'],
    [{ type: 'string', format: 'email' }, 'text', 'text', 'email'],
    [{ type: 'string', format: 'uri' }, 'text', 'text', 'url'],
    [{ type: 'string', format: 'date' }, 'text', 'text', 'date'],
    [{ type: 'string', format: 'time' }, 'text', 'text', 'time'],
    [{ type: 'string', format: 'date-time' }, 'text', 'text', 'datetime-local'],
    [{ type: ['string', 'null'] }, 'text', 'text', 'text'],
    [{ type: 'number' }, 'number', 'text', 'number'],
    [{ type: 'integer' }, 'number', 'text', 'number'],
    [{ type: 'boolean' }, 'boolean', 'checkbox', 'text'],
    [{ enum: ['a', 'b'] }, 'choice', 'radio', 'text'],
    [{ enum: ['a', 'b', 'c', 'd', 'e'] }, 'choice', 'select', 'text'],
    [{ oneOf: [{ const: 1, title: 'One' }] }, 'choice', 'radio', 'text'],
    [{ type: 'array', items: { enum: ['a'] } }, 'many', 'checkbox', 'text'],
    [{ type: 'array', items: { type: 'string' } }, 'list', 'textarea', 'text'],
    [{ type: 'array', items: { type: 'number' } }, 'json', 'textarea', 'text'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, 'group', 'text', 'text'],
    [{ type: 'object' }, 'json', 'textarea', 'text'],
    [{}, 'json', 'textarea', 'text'],
    [7, 'json', 'textarea', 'text'],
  ])('%j is a %s, by %s', (schema, kind, widget, input) => expect(field(schema)).toMatchObject({ kind, widget, input }))

  it('widgets are chosen where they fit', () => {
    expect(field({ type: 'number', minimum: 0, maximum: 1 }, 'slider').widget).toBe('slider')
    expect(field({ type: 'number' }, 'slider').widget).toBe('text')
    expect(field({ type: 'boolean' }, 'switch').widget).toBe('switch')
    expect(field({ type: 'string' }, 'datetime').input).toBe('datetime-local')
  })

  it('what is secret is not typed, and not sent', () => {
    const secret = field({ type: 'string', format: 'password', default: 'x' })
    expect(secret).toMatchObject({ disabled: true, secret: true })
    expect(field({ type: 'string', writeOnly: true }).secret).toBe(true)
    expect(hintOf(secret)).toContain('log')
    expect(readForm([secret], () => 'hunter2').values).toEqual({})
  })

  it('fields stand in the order that is told, and then as they came', () => {
    const schema = { type: 'object', properties: { a: {}, b: {}, c: {} } }
    expect(fieldsFrom({ schema, order: ['c', 'x', 'a'] }).map(({ key }) => key)).toEqual(['c', 'a', 'b'])
    for (const odd of [undefined, 7, { properties: 7 }, { properties: [] }])
      expect(fieldsFrom({ schema: odd })).toEqual([])
  })

  it.each([
    [{ type: 'integer', minimum: 1 }, '0', { f: 'At least 1.' }, {}],
    [{ type: 'integer' }, '1.5', { f: 'A whole number, please.' }, {}],
    [{ type: 'number', multipleOf: 0.1 }, '0.3', {}, { f: 0.3 }],
    [{ type: 'number', multipleOf: 0.5 }, '0.3', { f: 'A multiple of 0.5.' }, {}],
    [{ type: 'number' }, 'x', { f: 'This is no number.' }, {}],
    [{ type: 'string', minLength: 3 }, 'ab', { f: 'At least 3 letters.' }, {}],
    [{ type: 'string', pattern: '^x$' }, 'y', {}, { f: 'y' }],
    [{ type: 'string', format: 'email' }, 'nobody', { f: 'An address like name@example.org.' }, {}],
    [{ enum: [1, null, 'x'] }, '1', {}, { f: null }],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, [1], {}, { f: ['b'] }],
    [{ type: 'array', items: { type: 'string' }, maxItems: 1 }, 'a\n\nb', { f: 'At most 1.' }, {}],
    [{}, '{"a":', { f: 'This is no JSON: texts stand in quotes.' }, {}],
    [{}, '{"a":1}', {}, { f: { a: 1 } }],
    [{ type: 'boolean' }, true, {}, { f: true }],
    [{ type: 'string' }, '', {}, {}],
  ])('%j with %j', (schema, draft, problems, values) => {
    expect(readForm([field(schema)], () => draft)).toEqual({ problems, values })
  })

  it('what is needed must be there, also in a group', () => {
    const fields = fieldsFrom({
      schema: {
        type: 'object',
        required: ['a'],
        properties: {
          a: { type: 'string' },
          g: { type: 'object', required: ['b'], properties: { b: { type: 'string' } } },
        },
      },
    })
    expect(readForm(fields, () => '').problems).toEqual({ a: 'This is needed.', 'g.b': 'This is needed.' })
    expect(readForm(fields, ({ key }) => key).values).toEqual({ a: 'a', g: { b: 'g.b' } })
  })

  it('begins with the values, then the defaults', () => {
    expect(draftOf(field({ enum: ['a', 'b'], default: 'b' }), undefined)).toBe('1')
    expect(draftOf(field({ enum: ['a', 'b'], default: 'b' }), 'a')).toBe('0')
    expect(draftOf(field({ enum: ['a'] }), 'other')).toBe('')
    expect(draftOf(field({ type: 'array', items: { type: 'string' } }), ['x', 'y'])).toBe('x\ny')
    expect(draftOf(field({}), { a: 1 })).toBe('{\n  "a": 1\n}')
  })

  it('a value of any schema has one', () => {
    expect(formFor({ type: 'integer' })).toMatchObject({
      unwraps: true,
      schema: { properties: { value: { type: 'integer' } } },
    })
    expect(formFor({ type: 'object', properties: {} }).unwraps).toBe(false)
  })
})

describe('a plan that is edited', () => {
  it('reads steps of every form', () => {
    const steps = stepsOf({
      steps: ['One', { text: 'Two' }, { description: 'Three', status: 'failed' }, 7, null],
      current_step: 1,
    })
    expect(steps.map(({ words, state }) => [words, state])).toEqual([
      ['One', 'done'],
      ['Two', 'running'],
      ['Three', 'failed'],
      ['7', 'pending'],
      ['', 'pending'],
    ])
  })
  it('steps that are called alike are told apart', () =>
    expect(new Set(stepsOf({ steps: ['a', 'a', { id: 'a' }] }).map(({ key }) => key)).size).toBe(3))
  it('moves one step', () => {
    expect(moved(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a'])
    expect(moved(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b'])
    expect(moved(['a'], 3, 0)).toEqual(['a'])
  })
  it.each([
    ['edit_step', { step_index: 1, description: 'x' }, ['a', { id: 'b', description: 'x' }]],
    ['add_step', { step_index: 2, description: 'x' }, ['a', { id: 'b', description: 'B' }, 'x']],
    ['remove_step', { step_index: 0 }, [{ id: 'b', description: 'B' }]],
    [
      'approve_step',
      { step_index: 0 },
      [
        { description: 'a', approved: true },
        { id: 'b', description: 'B' },
      ],
    ],
    ['reorder_steps', { steps: ['z'] }, ['z']],
    ['approve_plan', {}, undefined],
  ])('%s', (action, payload, after) =>
    expect(afterAct(['a', { id: 'b', description: 'B' }], action, payload)).toEqual(after),
  )
})

describe('what is shown of the shared state', () => {
  const state = { plan: ['a', 'b'], 'a/b': { steps: ['x'], other: 1 }, form: { values: { n: 1 } } }
  it('is found by its pointer', () => {
    expect(valueAtPointer(state, '/plan/1')).toBe('b')
    expect(valueAtPointer(state, '/a~1b/other')).toBe(1)
    expect(valueAtPointer(state, '/no/where')).toBeUndefined()
  })
  it('is changed by a patch that fails when it has changed meanwhile', () => {
    const bind = { pointer: '/plan', as: 'steps', edits: true }
    expect(patchOf(state, bind, 'reorder_steps', { steps: ['b', 'a'] })).toEqual([
      { op: 'test', path: '/plan', value: ['a', 'b'] },
      { op: 'replace', path: '/plan', value: ['b', 'a'] },
    ])
    expect(patchOf(state, { pointer: '/a~1b', edits: true }, 'remove_step', { step_index: 0 })?.[1]).toMatchObject({
      value: { steps: [], other: 1 },
    })
    expect(patchOf(state, { pointer: '/form', edits: true }, 'change', { values: { n: 2 } })?.[1]).toMatchObject({
      value: { values: { n: 2 } },
    })
  })
  it('tells the agent what is no edit', () => {
    const bind = { pointer: '/plan', edits: true }
    expect(patchOf(state, bind, 'approve_plan', {})).toBeUndefined()
    expect(patchOf(state, { pointer: '/plan' }, 'reorder_steps', { steps: [] })).toBeUndefined()
    expect(patchOf(state, undefined, 'reorder_steps', { steps: [] })).toBeUndefined()
  })
})

describe('an approval', () => {
  it.each([
    [
      {},
      [
        ['approve', true],
        ['reject', false],
      ],
    ],
    [
      { options: ['approve', 'later'] },
      [
        ['approve', true],
        ['later', false],
      ],
    ],
    [
      { options: ['yes', 'no'] },
      [
        ['yes', false],
        ['no', false],
      ],
    ],
    [
      { options: [{ value: 'ship', style: 'primary' }, 'approve'] },
      [
        ['ship', true],
        ['approve', false],
      ],
    ],
    [
      { options: [7, null, {}, 'x'] },
      [
        ['7', false],
        ['x', false],
      ],
    ],
  ])('of %j', (props, options) =>
    expect(optionsOf(props).map(({ value, approves }) => [value, approves])).toEqual(options),
  )
  it('says what was chosen', () => {
    const [first] = optionsOf({})
    expect(first && answerOf(first, ' fine ')).toEqual({ choice: 'approve', approved: true, message: 'fine' })
  })
})

it.each([
  ['approval', { choice: 'approve', approved: true, message: 'go' }, 'approve: go'],
  ['form', { action: 'submit', values: { a_b: 1, c: 'x' } }, 'a b: 1, c: x'],
  ['form', { action: 'cancel' }, 'cancelled'],
  ['plan_editor', { approved: false }, 'did not approve the plan'],
  ['hologram', true, 'yes'],
  ['hologram', 'words', 'words'],
  ['hologram', [1, 2], '[1,2]'],
])('the answer of %s %j is said as %s', (name, value, words) => expect(answerWords(name, value)).toBe(words))
