// Axes: which values get a line and a word, and where a value stands. Few ticks, round numbers, and the same ones as long as the data allow it.

import { monthName, short } from './numbers'

export interface Axis {
  from: number
  to: number
  ticks: { at: number; words: string }[]
}

/** Round numbers between two, about so many. */
export function ticksOf(from: number, to: number, count: number): number[] {
  if (!(to > from) || count < 1) return [from]
  const step = stepOf((to - from) / count)
  const first = Math.ceil(from / step - 1e-9)
  const last = Math.floor(to / step + 1e-9)
  // Multiples of the step, so that 0.3 is not 0.30000000000000004.
  const digits = Math.max(0, -Math.floor(Math.log10(step)) + 1)
  return Array.from({ length: Math.min(100, last - first + 1) }, (_, at) =>
    Number(((first + at) * step).toFixed(Math.min(100, digits))),
  )
}

function stepOf(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const share = rough / power
  return (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1) * power
}

export interface Limits {
  min?: number | undefined
  max?: number | undefined
  /** Lengths are compared from zero on: bars and areas. */
  zero: boolean
}

/** The axis of values, with room to the next round number where nobody set a limit. */
export function valueAxis(values: Iterable<number>, { min, max, zero }: Limits, count: number): Axis {
  let [low, high] = [Infinity, -Infinity]
  for (const value of values) {
    if (value < low) low = value
    if (value > high) high = value
  }
  if (low > high) [low, high] = [0, 1]
  // A course whose foot is near is shown with it: half the height for a tenth of the value misleads.
  if (zero || (low > 0 && low < high / 2)) low = Math.min(0, low)
  if (zero || (high < 0 && high > low / 2)) high = Math.max(0, high)
  if (low === high)
    [low, high] =
      low === 0 ? [0, 1] : low > 0 && zero ? [0, high] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2]
  const step = stepOf((high - low) / count)
  let from = min ?? Math.floor(low / step + 1e-9) * step
  let to = max ?? Math.ceil(high / step - 1e-9) * step
  if (!(to > from)) [from, to] = [Math.min(from, to), Math.min(from, to) + 1]
  return { from, to, ticks: ticksOf(from, to, count).map((at) => ({ at, words: short(at) })) }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
]
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120]
const MOST_TICKS = 40

/** The axis of times, from the first to the last, with words for what changes between its ticks. */
export function timeAxis(from: number, to: number, count: number): Axis {
  if (!(to > from))
    return { from: from - HOUR, to: from + HOUR, ticks: [{ at: from, words: dayWords(new Date(from)) }] }
  const rough = (to - from) / Math.max(1, count)
  const step = STEPS.find((one) => one >= rough)
  const ticks = step === undefined ? monthTicks(from, to, rough) : evenTicks(from, to, step)
  return { from, to, ticks }
}

const two = (value: number) => String(value).padStart(2, '0')
const dayWords = (day: Date) => `${day.getDate()} ${monthName(day.getMonth())}`

function evenTicks(from: number, to: number, step: number) {
  // In the time of the place: a day begins at its own midnight.
  const offset = new Date(from).getTimezoneOffset() * MINUTE
  const ticks = []
  for (let at = Math.ceil((from - offset) / step) * step + offset; at <= to && ticks.length < MOST_TICKS; at += step)
    ticks.push({ at, words: evenWords(new Date(at), step) })
  return ticks
}

function evenWords(time: Date, step: number): string {
  if (step >= DAY) return dayWords(time)
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`
  if (step < MINUTE) return `${clock}:${two(time.getSeconds())}`
  return clock === '00:00' && step >= HOUR ? dayWords(time) : clock
}

function monthTicks(from: number, to: number, rough: number) {
  const months = MONTH_STEPS.find((one) => one * 30 * DAY >= rough) ?? Math.ceil(rough / (365 * DAY)) * 12
  const begin = new Date(from)
  const ticks = []
  let month = begin.getFullYear() * 12 + Math.ceil(begin.getMonth() / Math.min(12, months)) * Math.min(12, months)
  for (; ticks.length < MOST_TICKS; month += months) {
    const at = new Date(Math.floor(month / 12), month % 12, 1)
    if (at.getTime() > to) break
    if (at.getTime() < from) continue
    const year = String(at.getFullYear())
    ticks.push({ at: at.getTime(), words: months >= 12 ? year : at.getMonth() === 0 ? year : monthName(at.getMonth()) })
  }
  return ticks
}

/** Where a value stands between two places. */
export const place = ({ from, to }: Pick<Axis, 'from' | 'to'>, value: number, start: number, end: number) =>
  start + ((value - from) / (to - from)) * (end - start)

/** Which of so many words in a row have room: every so-manieth. */
export function every(count: number, room: number, each: number): number {
  return Math.max(1, Math.ceil((count * each) / Math.max(1, room)))
}
