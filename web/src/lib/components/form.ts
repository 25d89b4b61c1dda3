// A form from a JSON Schema of an object: which fields there are, what was typed as a value, and what is wrong with it. Not here: how fields look.

import { fieldsOf, isFields, listOf, numberOf, textOf, wordOf, type Fields } from './read'

export const WIDGETS = [
  'text',
  'textarea',
  'select',
  'radio',
  'checkbox',
  'switch',
  'slider',
  'date',
  'time',
  'datetime',
] as const
export type Widget = (typeof WIDGETS)[number]

export interface Choice {
  value: unknown
  label: string
}

export type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'many' | 'list' | 'group' | 'json'

export interface Field {
  /** Names from the top: one, or two inside a group. */
  path: string[]
  key: string
  kind: FieldKind
  label: string
  description: string
  widget: Widget
  /** The `type` of its input, where it is one. */
  input: 'text' | 'email' | 'url' | 'date' | 'time' | 'datetime-local' | 'number'
  choices: Choice[]
  fields: Field[]
  required: boolean
  disabled: boolean
  /** What is typed becomes a fact, so it must not be typed. */
  secret: boolean
  placeholder: string
  schema: Fields
}

/** What a person typed: texts, also of numbers; what is chosen by its place; several of these. */
export type Draft = string | boolean | number[]
export type Drafts = Record<string, Draft>
export type Read = { value: unknown } | { problem: string } | { nothing: true }

const MOST_FIELDS = 100
const MOST_CHOICES = 200
/** So few choices are all seen at once. */
const FEW_CHOICES = 4
/** A text that may be so long gets more than a line. */
const LONG_TEXT = 200

export interface FormShape {
  schema?: unknown
  order?: unknown
  widgets?: unknown
}

export function fieldsFrom(form: FormShape): Field[] {
  const schema = fieldsOf(form.schema)
  const widgets = fieldsOf(form.widgets)
  return fieldsIn(schema, [], widgets, listOf(form.order, MOST_FIELDS).map(textOf))
}

function fieldsIn(schema: Fields, above: string[], widgets: Fields, order: string[]): Field[] {
  const properties = fieldsOf(schema['properties'])
  const names = [...order.filter((name) => Object.hasOwn(properties, name)), ...Object.keys(properties)]
  const required = new Set(listOf(schema['required'], MOST_FIELDS))
  return [...new Set(names)].slice(0, MOST_FIELDS).map((name) => {
    const own = fieldsOf(properties[name])
    const path = [...above, name]
    return fieldOf(own, path, required.has(name), widgets)
  })
}

function fieldOf(schema: Fields, path: string[], required: boolean, widgets: Fields): Field {
  const name = path.at(-1) ?? ''
  const secret = schema['format'] === 'password' || schema['writeOnly'] === true
  const { kind, choices } = kindOf(schema, path.length)
  const chosen = wordOf(widgets[path.join('.')] ?? widgets[name], WIDGETS)
  const [example] = listOf(schema['examples'], 1)
  return {
    path,
    key: path.join('.'),
    kind,
    label: textOf(schema['title']) || wordsOf(name),
    description: textOf(schema['description']),
    widget: widgetOf(kind, chosen, schema, choices),
    input: inputOf(kind, chosen, schema),
    choices,
    fields: kind === 'group' ? fieldsIn(schema, path, widgets, []) : [],
    required,
    disabled: secret || schema['readOnly'] === true,
    secret,
    placeholder: isFields(example) || Array.isArray(example) ? JSON.stringify(example) : textOf(example),
    schema,
  }
}

const wordsOf = (name: string) => {
  const words = name.replaceAll(/[_-]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function kindOf(schema: Fields, depth: number): { kind: FieldKind; choices: Choice[] } {
  const choices = choicesOf(schema)
  if (choices.length > 0) return { kind: 'choice', choices }
  const types = (Array.isArray(schema['type']) ? (schema['type'] as unknown[]) : [schema['type']]).filter(
    (type) => type !== 'null',
  )
  const type = types.length === 1 ? types[0] : undefined
  if (type === 'string') return { kind: 'text', choices }
  if (type === 'number' || type === 'integer') return { kind: 'number', choices }
  if (type === 'boolean') return { kind: 'boolean', choices }
  if (type === 'object' && depth === 1 && Object.keys(fieldsOf(schema['properties'])).length > 0)
    return { kind: 'group', choices }
  if (type === 'array') {
    const items = fieldsOf(schema['items'])
    const inside = choicesOf(items)
    if (inside.length > 0) return { kind: 'many', choices: inside }
    if (items['type'] === 'string') return { kind: 'list', choices }
  }
  return { kind: 'json', choices }
}

/** `enum`, or `oneOf` of constants with titles. */
function choicesOf(schema: Fields): Choice[] {
  const words = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : textOf(value))
  if (Array.isArray(schema['enum']))
    return listOf(schema['enum'], MOST_CHOICES).map((value) => ({ value, label: words(value) }))
  const options = listOf(schema['oneOf'], MOST_CHOICES)
  if (options.length === 0 || !options.every((option) => isFields(option) && 'const' in option)) return []
  return options.map((option) => {
    const { const: value, title } = fieldsOf(option)
    return { value, label: textOf(title) || words(value) }
  })
}

function widgetOf(kind: FieldKind, chosen: Widget | undefined, schema: Fields, choices: Choice[]): Widget {
  const fits: Record<FieldKind, Widget[]> = {
    text: ['text', 'textarea', 'date', 'time', 'datetime'],
    number: ['text', 'slider'],
    boolean: ['checkbox', 'switch', 'select', 'radio'],
    choice: choices.length <= FEW_CHOICES ? ['radio', 'select'] : ['select', 'radio'],
    many: ['checkbox'],
    list: ['textarea'],
    group: ['text'],
    json: ['textarea'],
  }
  const usual = fits[kind]
  const slides = numberOf(schema['minimum']) !== undefined && numberOf(schema['maximum']) !== undefined
  if (chosen && usual.includes(chosen) && (chosen !== 'slider' || slides)) return chosen
  return kind === 'text' && (numberOf(schema['maxLength']) ?? 0) > LONG_TEXT ? 'textarea' : (usual[0] ?? 'text')
}

const INPUTS: Record<string, Field['input']> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
  datetime: 'datetime-local',
}

function inputOf(kind: FieldKind, chosen: Widget | undefined, schema: Fields): Field['input'] {
  if (kind === 'number') return 'number'
  const told = chosen && chosen in INPUTS ? chosen : textOf(schema['format'])
  return kind === 'text' && Object.hasOwn(INPUTS, told) ? (INPUTS[told] ?? 'text') : 'text'
}

/** What stands in a field before anybody types: the value it has, or its default. */
export function draftOf(field: Field, value: unknown): Draft {
  const shown = value ?? field.schema['default']
  const place = (one: unknown) =>
    field.choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(one))
  switch (field.kind) {
    case 'boolean':
      return shown === true
    case 'choice':
      return shown === undefined ? '' : String(place(shown)).replace('-1', '')
    case 'many':
      return listOf(shown, MOST_CHOICES)
        .map(place)
        .filter((at) => at >= 0)
    case 'list':
      return listOf(shown, MOST_CHOICES).map(textOf).join('\n')
    case 'json':
      return shown === undefined ? '' : JSON.stringify(shown, null, 2)
    case 'text':
      return field.input === 'datetime-local' ? localTime(textOf(shown)) : textOf(shown)
    default:
      return textOf(shown)
  }
}

const two = (value: number) => String(value).padStart(2, '0')

/** A moment as the browser's own field takes it: here, and without a zone. */
function localTime(text: string): string {
  const moment = new Date(text)
  if (text === '' || Number.isNaN(moment.getTime())) return ''
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`
  return `${day}T${two(moment.getHours())}:${two(moment.getMinutes())}`
}

/** What a draft means. */
export function readDraft(field: Field, draft: Draft): Read {
  if (field.kind === 'boolean') return { value: draft === true }
  if (field.kind === 'many') {
    const places = Array.isArray(draft) ? draft : []
    return counted(
      field,
      places.map((at) => field.choices[at]?.value),
    )
  }
  const text = typeof draft === 'string' ? draft : ''
  if (field.kind === 'list')
    return counted(
      field,
      text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean),
    )
  if (text.trim() === '') return field.required && !field.disabled ? { problem: 'This is needed.' } : { nothing: true }
  if (field.kind === 'choice') {
    const choice = field.choices[Number(text)]
    return choice ? { value: choice.value } : { nothing: true }
  }
  if (field.kind === 'number') return readNumber(field, text)
  if (field.kind === 'json') return readJson(text)
  return readText(field, text)
}

function counted({ schema, required }: Field, list: unknown[]): Read {
  const least = numberOf(schema['minItems']) ?? (required ? 1 : 0)
  const most = numberOf(schema['maxItems'])
  if (list.length === 0 && !required) return { nothing: true }
  if (list.length < least) return { problem: `At least ${least}.` }
  return most !== undefined && list.length > most ? { problem: `At most ${most}.` } : { value: list }
}

function readNumber({ schema }: Field, text: string): Read {
  const value = Number(text)
  if (!Number.isFinite(value)) return { problem: 'This is no number.' }
  const [min, max, step] = [numberOf(schema['minimum']), numberOf(schema['maximum']), numberOf(schema['multipleOf'])]
  if (schema['type'] === 'integer' && !Number.isInteger(value)) return { problem: 'A whole number, please.' }
  if (min !== undefined && value < min) return { problem: `At least ${min}.` }
  if (max !== undefined && value > max) return { problem: `At most ${max}.` }
  const steps = step ? value / step : 0
  return Math.abs(steps - Math.round(steps)) > 1e-9 ? { problem: `A multiple of ${step}.` } : { value }
}

function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: 'This is no JSON: texts stand in quotes.' }
  }
}

function readText({ schema, input }: Field, text: string): Read {
  const [least, most] = [numberOf(schema['minLength']), numberOf(schema['maxLength'])]
  if (least !== undefined && text.length < least) return { problem: `At least ${least} letters.` }
  if (most !== undefined && text.length > most) return { problem: `At most ${most} letters.` }
  if (input === 'email' && !/^\S+@\S+$/.test(text)) return { problem: 'An address like name@example.org.' }
  if (input === 'url' && !URL.canParse(text)) return { problem: 'An address like https://example.org.' }
  if (input !== 'datetime-local') return { value: text }
  const moment = new Date(text)
  return Number.isNaN(moment.getTime()) ? { problem: 'This is no date and time.' } : { value: moment.toISOString() }
}

/** All values of a form, and what is wrong with which field. Groups are objects; what was left empty is left out. */
export function readForm(
  fields: Field[],
  draftAt: (field: Field) => Draft,
): { values: Fields; problems: Record<string, string> } {
  const values: Fields = {}
  const problems: Record<string, string> = {}
  for (const field of fields) {
    const name = field.path.at(-1) ?? ''
    if (field.secret) continue
    if (field.kind === 'group') {
      const inside = readForm(field.fields, draftAt)
      Object.assign(problems, inside.problems)
      if (Object.keys(inside.values).length > 0 || field.required) values[name] = inside.values
      continue
    }
    const read = readDraft(field, draftAt(field))
    if ('problem' in read) problems[field.key] = read.problem
    else if ('value' in read) values[name] = read.value
  }
  return { values, problems }
}

/** The value of a field among the values of a form. */
export const valueAt = (values: unknown, path: string[]): unknown =>
  path.reduce<unknown>(
    (inside, name) => (isFields(inside) && Object.hasOwn(inside, name) ? inside[name] : undefined),
    values,
  )

/** What may be typed, in words, beside the description. */
export function hintOf({ schema, kind, secret }: Field): string {
  if (secret) return 'Not here: what is typed is kept in the log of the session.'
  const parts = []
  const [min, max] = [numberOf(schema['minimum']), numberOf(schema['maximum'])]
  if (min !== undefined && max !== undefined) parts.push(`${min} to ${max}`)
  else if (min !== undefined) parts.push(`at least ${min}`)
  else if (max !== undefined) parts.push(`at most ${max}`)
  if (textOf(schema['pattern'])) parts.push(`like ${textOf(schema['pattern'])}`)
  if (kind === 'list') parts.push('one on each line')
  if (kind === 'json') parts.push('JSON')
  return parts.join(', ')
}

/** A form for a value of any schema: an object has its fields, anything else is one field that is called `value`. */
export function formFor(schema: unknown): { schema: Fields; unwraps: boolean } {
  const fields = fieldsOf(schema)
  if (fields['type'] === 'object' || isFields(fields['properties'])) return { schema: fields, unwraps: false }
  const one = { title: 'Answer', ...fields }
  return { schema: { type: 'object', properties: { value: one }, required: ['value'] }, unwraps: true }
}
