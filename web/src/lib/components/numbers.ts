// Numbers, times and sizes as components show them. The rest of the page has whole numbers; here they have decimals too.

import { bytes, elapsed, number } from '../format'
import { momentOf, numberOf, textOf } from './read'

const THIN = '\u202f'
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A number as people read it: at most so many decimals, none that say nothing. */
export function decimal(value: number, digits = 2): string {
  if (!Number.isFinite(value)) return ''
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return sign(value) + number(Math.abs(value))
  if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 10 ** -digits / 2)) return value.toExponential(2)
  const [whole = '0', rest = ''] = Math.abs(value).toFixed(digits).split('.')
  const decimals = rest.replace(/0+$/, '')
  return sign(value) + number(Number(whole)) + (decimals ? `.${decimals}` : '')
}

const sign = (value: number) => (value < 0 ? '−' : '')

/** A number where there is little room: 1.2 k, 3.4 M. */
export function short(value: number): string {
  const size = Math.abs(value)
  for (const [unit, letter] of [
    [1e12, 'T'],
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const)
    if (size >= unit) return `${decimal(value / (letter === 'k' ? 1e3 : unit), 1)}${THIN}${letter}`
  return decimal(value, 4)
}

/** With its unit, which stands close to a sign and apart from a word. */
export const withUnit = (text: string, unit: unknown) => {
  const word = textOf(unit)
  return word === '' ? text : /^[%°]/.test(word) ? text + word : `${text}${THIN}${word}`
}

export const byteWords = (value: number) => (value >= 1_073_741_824 ? gigabytes(value) : bytes(value))
const gigabytes = (value: number) => `${(value / 1_073_741_824).toFixed(1)}${THIN}GB`

/** Seconds, as long as people say it. */
export const durationWords = (seconds: number) =>
  seconds < 10 ? `${decimal(seconds, 1)}${THIN}s` : elapsed(seconds * 1_000)

const two = (value: number) => String(value).padStart(2, '0')

/** A day, and the time where one is given. A day without a time is that day everywhere. */
export function dateWords(value: unknown): string {
  const moment = momentOf(value)
  if (moment === undefined) return textOf(value)
  const text = textOf(value)
  if (/^\d{4}-\d\d$/.test(text)) return `${MONTHS[Number(text.slice(5)) - 1] ?? ''} ${text.slice(0, 4)}`
  if (/^\d{4}-\d\d-\d\d$/.test(text))
    return `${Number(text.slice(8))} ${MONTHS[Number(text.slice(5, 7)) - 1] ?? ''} ${text.slice(0, 4)}`
  const day = new Date(moment)
  const time = `${two(day.getHours())}:${two(day.getMinutes())}`
  return `${day.getDate()} ${MONTHS[day.getMonth()] ?? ''} ${day.getFullYear()}, ${time}`
}

export type Kind = 'text' | 'number' | 'bytes' | 'duration' | 'date' | 'link' | 'code' | 'badge' | 'boolean'

/** One value, as its kind is written. What is no plain value is left to whoever draws it. */
export function valueWords(value: unknown, kind: Kind | undefined, unit?: unknown): string {
  const amount = numberOf(value)
  if (amount !== undefined && kind === 'bytes') return byteWords(amount)
  if (amount !== undefined && kind === 'duration') return durationWords(amount)
  if (amount !== undefined && kind !== 'code') return withUnit(decimal(amount), unit)
  if (kind === 'date') return dateWords(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return withUnit(textOf(value), unit)
}

/** The name of a month, for axes and lists. */
export const monthName = (month: number) => MONTHS[month] ?? ''
