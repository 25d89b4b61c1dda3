// Whether a value is what a JSON Schema says, with the words the daemon checks. Other words are not looked at. Not here: forms.

import { fieldsOf, isFields, type Fields } from './read'

/** Deeper than this a value is taken as it is: a schema may lead back to itself. */
const DEEPEST = 40

/** What does not fit, in one line; nothing where all of it does. */
export function misfit(value: unknown, schema: unknown): string | undefined {
  return check(value, schema, { root: fieldsOf(schema), path: '', depth: 0 })
}

interface Place {
  root: Fields
  path: string
  depth: number
}

const at = ({ path }: Place, words: string) => `${path === '' ? 'The properties' : path} ${words}`
const below = (place: Place, key: string | number): Place => ({
  ...place,
  path: `${place.path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
  depth: place.depth + 1,
})

function check(value: unknown, schema: unknown, place: Place): string | undefined {
  if (schema === false) return at(place, 'must not be there')
  if (!isFields(schema) || place.depth > DEEPEST) return undefined
  const target = typeof schema['$ref'] === 'string' ? refOf(schema['$ref'], place.root) : undefined
  return (
    (target === undefined ? undefined : check(value, target, { ...place, depth: place.depth + 1 })) ??
    checkType(value, schema, place) ??
    checkChoice(value, schema, place) ??
    (typeof value === 'string' ? checkText(value, schema, place) : undefined) ??
    (typeof value === 'number' ? checkNumber(value, schema, place) : undefined) ??
    (Array.isArray(value) ? checkList(value, schema, place) : undefined) ??
    (isFields(value) ? checkFields(value, schema, place) : undefined)
  )
}

const refOf = (ref: string, root: Fields): unknown =>
  ref.startsWith('#/')
    ? ref
        .slice(2)
        .split('/')
        .reduce<unknown>((node, key) => fieldsOf(node)[key.replaceAll('~1', '/').replaceAll('~0', '~')], root)
    : undefined

const NAMES: Record<string, string> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
}

function isOf(type: unknown, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isFields(value)
    case 'array':
      return Array.isArray(value)
    case 'null':
      return value === null
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
    case 'string':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}

function checkType(value: unknown, { type }: Fields, place: Place): string | undefined {
  if (type === undefined) return undefined
  const types = Array.isArray(type) ? (type as unknown[]) : [type]
  if (types.some((one) => isOf(one, value))) return undefined
  return at(place, `must be ${types.map((one) => NAMES[String(one)] ?? String(one)).join(' or ')}`)
}

function checkChoice(value: unknown, schema: Fields, place: Place): string | undefined {
  if (Array.isArray(schema['enum'])) {
    const choices = schema['enum'] as unknown[]
    const text = JSON.stringify(value)
    if (!choices.some((choice) => JSON.stringify(choice) === text))
      return at(place, `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`)
  }
  if (!Array.isArray(schema['anyOf'])) return undefined
  const reasons = (schema['anyOf'] as unknown[]).map((one) => check(value, one, place))
  // The one that got furthest says most.
  return reasons.includes(undefined) ? undefined : reasons.reduce((a, b) => (depthOf(b) > depthOf(a) ? b : a))
}

const depthOf = (reason: string | undefined) => reason?.split(' ')[0]?.split('/').length ?? 0

const over = (limit: unknown, count: number) => typeof limit === 'number' && count > limit
const under = (limit: unknown, count: number) => typeof limit === 'number' && count < limit

function checkText(value: string, schema: Fields, place: Place): string | undefined {
  if (over(schema['maxLength'], value.length)) return at(place, `is longer than ${String(schema['maxLength'])}`)
  if (under(schema['minLength'], value.length)) return at(place, `is shorter than ${String(schema['minLength'])}`)
  if (typeof schema['pattern'] !== 'string') return undefined
  try {
    return new RegExp(schema['pattern'], 'u').test(value) ? undefined : at(place, `must look like ${schema['pattern']}`)
  } catch {
    return undefined
  }
}

function checkNumber(value: number, schema: Fields, place: Place): string | undefined {
  if (under(schema['minimum'], value)) return at(place, `must be at least ${String(schema['minimum'])}`)
  return over(schema['maximum'], value) ? at(place, `must be at most ${String(schema['maximum'])}`) : undefined
}

function checkList(value: unknown[], schema: Fields, place: Place): string | undefined {
  if (over(schema['maxItems'], value.length)) return at(place, `has more than ${String(schema['maxItems'])} entries`)
  if (under(schema['minItems'], value.length)) return at(place, `has fewer than ${String(schema['minItems'])} entries`)
  const first = Array.isArray(schema['prefixItems']) ? (schema['prefixItems'] as unknown[]) : []
  for (const [index, item] of value.entries()) {
    const reason = check(item, index < first.length ? first[index] : schema['items'], below(place, index))
    if (reason !== undefined) return reason
  }
  return undefined
}

function checkFields(value: Fields, schema: Fields, place: Place): string | undefined {
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  for (const name of required) if (!(String(name) in value)) return at(place, `must have ${String(name)}`)
  const known = fieldsOf(schema['properties'])
  for (const [name, item] of Object.entries(value)) {
    const own = Object.hasOwn(known, name) ? known[name] : schema['additionalProperties']
    const reason = check(item, own, below(place, name))
    if (reason !== undefined) return reason
  }
  return undefined
}
