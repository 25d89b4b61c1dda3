// A chart as its properties tell it: which rows there are, what is across, which series go up. Not here: where anything is drawn.

import { dateWords, decimal, withUnit } from './numbers'
import { isFields, listOf, momentOf, numberOf, textOf, wordOf, type Fields } from './read'
import { MOST_POINTS, thinLine, type Point } from './thin'

export const CHART_TYPES = ['bar', 'line', 'area', 'pie', 'scatter'] as const
export type ChartType = (typeof CHART_TYPES)[number]

const MOST_ROWS = 5_000
const MOST_SERIES = 12
/** A round chart with more slices than this cannot be read: the smallest are one. */
const MOST_SLICES = 10

export interface Series {
  name: string
  colour: string
  /** By place across. A place without a value has none. */
  values: (number | undefined)[]
  /** By place across: which row the value is of. */
  rows: (number | undefined)[]
}

export interface Chart {
  type: ChartType
  /** How what is across is laid out: names side by side, numbers, or times. */
  across: 'names' | 'numbers' | 'times'
  xs: number[]
  labels: string[]
  series: Series[]
  /** The rows as they came. */
  data: unknown[]
  unit: string
}

type Row = { x: unknown; fields: Fields; index: number }

export function chartOf(props: Fields): Chart {
  const type = wordOf(props['type'], CHART_TYPES) ?? 'bar'
  const data = listOf(props['data'], MOST_ROWS)
  const rows = data.map(asFields)
  const keys = keysOf(rows)
  const by = textOf(props['series'])
  const xKey =
    textOf(props['x']) ||
    guessX(
      rows,
      keys.filter((key) => key !== by),
      type,
    )
  const yKeys = guessY(
    props['y'],
    rows,
    keys.filter((key) => key !== xKey && key !== by),
  )
  const all: Row[] = rows.map((fields, index) => ({ x: xKey === undefined ? index + 1 : fields[xKey], fields, index }))
  const across = type === 'bar' || type === 'pie' ? 'names' : acrossOf(all.map(({ x }) => x))
  const { xs, series } = by === '' || yKeys.length === 0 ? asColumns(all, yKeys) : asLong(all, by, yKeys[0] ?? '')
  const colours = coloursOf(props['colors'])
  return {
    type,
    across,
    xs: xs.map((x, at) => (across === 'times' ? momentOf(x) : across === 'numbers' ? numberOf(x) : at) ?? at),
    labels: xs.map(labelOf),
    series: series.slice(0, MOST_SERIES).map((one, at) => ({
      ...one,
      colour: colours[at % Math.max(1, colours.length)] ?? `var(--series-${(at % 8) + 1})`,
    })),
    data,
    unit: textOf(props['unit']),
  }
}

function asFields(row: unknown): Fields {
  if (isFields(row)) return row
  if (Array.isArray(row))
    return Object.fromEntries(
      row.map((cell, at) => [row.length === 1 ? 'value' : at === 0 ? 'x' : row.length === 2 ? 'y' : `y${at}`, cell]),
    )
  return { value: row }
}

function keysOf(rows: Fields[]): string[] {
  const keys = new Set<string>()
  for (const row of rows.slice(0, 200)) for (const key of Object.keys(row)) keys.add(key)
  return [...keys]
}

const isNumber = (value: unknown) => numberOf(value) !== undefined

/** The first key with texts or dates; for points and rows of pairs, the first of all. */
function guessX(rows: Fields[], keys: string[], type: ChartType): string | undefined {
  const words = keys.find(
    (key) => rows.some((row) => typeof row[key] === 'string') && rows.every((row) => !isFields(row[key])),
  )
  if (words !== undefined) return words
  const numbers = keys.filter((key) => rows.some((row) => isNumber(row[key])))
  return keys.includes('x') || (type === 'scatter' && numbers.length > 1)
    ? keys.includes('x')
      ? 'x'
      : numbers[0]
    : undefined
}

function guessY(given: unknown, rows: Fields[], keys: string[]): string[] {
  const named = (Array.isArray(given) ? given : [given]).map(textOf).filter(Boolean)
  if (named.length > 0) return named.slice(0, MOST_SERIES)
  return keys.filter((key) => rows.some((row) => isNumber(row[key]))).slice(0, MOST_SERIES)
}

function acrossOf(xs: unknown[]): Chart['across'] {
  if (xs.length === 0) return 'names'
  if (xs.every(isNumber)) return 'numbers'
  return xs.every((x) => momentOf(x) !== undefined) ? 'times' : 'names'
}

const labelOf = (x: unknown) =>
  momentOf(x) === undefined ? (isNumber(x) ? decimal(x as number, 4) : textOf(x)) : dateWords(x)

type Bare = Omit<Series, 'colour'>

function asColumns(rows: Row[], keys: string[]): { xs: unknown[]; series: Bare[] } {
  const series = keys.map((name) => ({
    name,
    values: rows.map(({ fields }) => numberOf(fields[name])),
    rows: rows.map(({ index }) => index),
  }))
  return { xs: rows.map(({ x }) => x), series }
}

/** Rows that each name the series they belong to. */
function asLong(rows: Row[], by: string, key: string): { xs: unknown[]; series: Bare[] } {
  const places = new Map<string, number>()
  const xs: unknown[] = []
  const series = new Map<string, Bare>()
  for (const { x, fields, index } of rows) {
    const id = JSON.stringify(x) ?? ''
    const at = places.get(id) ?? xs.push(x) - 1
    places.set(id, at)
    const name = textOf(fields[by])
    const one = series.get(name) ?? { name, values: [], rows: [] }
    series.set(name, one)
    one.values[at] = numberOf(fields[key])
    one.rows[at] = index
  }
  const whole = <T>(list: (T | undefined)[]) => Array.from({ length: xs.length }, (_, at) => list[at])
  return {
    xs,
    series: [...series.values()].map((one) => ({ ...one, values: whole(one.values), rows: whole(one.rows) })),
  }
}

const TOKENS: Record<string, string> = {
  neutral: '--muted',
  ok: '--ok',
  warn: '--warn',
  bad: '--bad',
  accent: '--accent',
}

/** Colours are names of the page's own, or six digits. Nothing else of an agent reaches a style. */
function coloursOf(given: unknown): string[] {
  return listOf(given, MOST_SERIES).flatMap((colour) => {
    const text = textOf(colour)
    const token = Object.hasOwn(TOKENS, text) ? TOKENS[text] : undefined
    return token ? [`var(${token})`] : /^#[0-9a-f]{6}$/i.test(text) ? [text] : []
  })
}

export const isEmpty = ({ series }: Chart) => series.every(({ values }) => values.every((value) => value === undefined))

/** The points of a line or a cloud, few enough to be drawn. */
export function pointsOf(chart: Chart, series: Series): readonly Point[] {
  const points = chart.xs.flatMap((x, row) => {
    const y = series.values[row]
    return y === undefined ? [] : [{ x, y, row }]
  })
  const total = chart.series.length * chart.xs.length
  return total > MOST_POINTS ? thinLine(points, Math.max(50, Math.floor(MOST_POINTS / chart.series.length))) : points
}

/** Sums from the foot up, for series that stand on each other: each value with where it begins. Those below zero hang from it. */
export function stack(series: Series[], count: number): { from: number; to: number }[][] {
  const up = new Array<number>(count).fill(0)
  const down = new Array<number>(count).fill(0)
  return series.map(({ values }) =>
    up.map((_, at) => {
      const value = values[at] ?? 0
      const base = value < 0 ? down : up
      const from = base[at] ?? 0
      base[at] = from + value
      return { from, to: from + value }
    }),
  )
}

export interface Slice {
  label: string
  value: number
  share: number
  /** Which row; nothing for the rest, which is several. */
  row: number | undefined
}

/** A round chart: shares of the whole, in the order they came. Values below zero have no share. */
export function slicesOf({ series, labels }: Chart): Slice[] {
  const values = series[0]?.values ?? []
  const all = values.flatMap((value, row) =>
    value !== undefined && value > 0 ? [{ label: labels[row] ?? '', value, row }] : [],
  )
  const total = all.reduce((sum, { value }) => sum + value, 0)
  const small = new Set(
    all.length > MOST_SLICES ? [...all].sort((a, b) => b.value - a.value).slice(MOST_SLICES - 1) : [],
  )
  const rest = [...small].reduce((sum, { value }) => sum + value, 0)
  const slices: Slice[] = all
    .filter((slice) => !small.has(slice))
    .map((slice) => ({ ...slice, share: slice.value / total }))
  return rest > 0
    ? [...slices, { label: `${small.size} others`, value: rest, share: rest / total, row: undefined }]
    : slices
}

/** What stands at one place, in words. */
export function wordsAt(
  chart: Chart,
  at: number,
): { label: string; values: { name: string; colour: string; words: string }[] } {
  return {
    label: chart.labels[at] ?? '',
    values: chart.series.flatMap(({ name, colour, values }) => {
      const value = values[at]
      return value === undefined ? [] : [{ name, colour, words: withUnit(decimal(value, 4), chart.unit) }]
    }),
  }
}

/** For those who do not see it: what it is, how much, and between which values. */
export function summaryOf(chart: Chart): string {
  const values = chart.series.flatMap((series) => series.values.filter((value) => value !== undefined))
  if (values.length === 0) return `${NAMES[chart.type]} without values`
  const [low, high] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  )
  const names = chart.series.map(({ name }) => name).join(', ')
  const words = (value: number) => withUnit(decimal(value), chart.unit)
  return `${NAMES[chart.type]} of ${names}: ${values.length} values between ${words(low)} and ${words(high)}`
}

const NAMES: Record<ChartType, string> = {
  bar: 'Bar chart',
  line: 'Line chart',
  area: 'Area chart',
  pie: 'Pie chart',
  scatter: 'Scatter chart',
}
