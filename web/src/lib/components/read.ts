// Properties of a component, read with care: they are data that an agent wrote, and nothing in them has to be what it should be.

export type Fields = Record<string, unknown>
export type Tone = 'neutral' | 'ok' | 'warn' | 'bad' | 'accent'

const TONES = new Set<unknown>(['neutral', 'ok', 'warn', 'bad', 'accent'])

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

/** A text, a number or a truth as text; nothing else has one. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Further apart than this, two numbers have no difference that is one. */
const LARGEST = 1e300

/** A number that can be drawn. */
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Math.abs(value) <= LARGEST ? value : undefined

/** A list, cut at what is drawn of it. */
export const listOf = (value: unknown, most: number): unknown[] => (Array.isArray(value) ? value.slice(0, most) : [])

/** The objects of a list, cut at what is drawn of it. */
export const rowsOf = (value: unknown, most: number): Fields[] => listOf(value, most).filter(isFields)

/** One of some words. */
export const wordOf = <T extends string>(value: unknown, words: readonly T[]): T | undefined =>
  words.find((word) => word === value)

export const toneOf = (value: unknown): Tone => (TONES.has(value) ? (value as Tone) : 'neutral')

/** A moment, in milliseconds; nothing where it is none. */
export function momentOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d/.test(value)) return undefined
  const moment = Date.parse(value)
  return Number.isNaN(moment) ? undefined : moment
}
