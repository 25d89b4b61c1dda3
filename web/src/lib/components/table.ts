// A table as its properties tell it: columns, rows, what a cell holds, and the order they are shown in.

import { isFields, listOf, momentOf, numberOf, textOf, wordOf, type Fields } from './read'

export const CELL_TYPES = ['text', 'number', 'date', 'boolean', 'link', 'code', 'badge'] as const
export type CellType = (typeof CELL_TYPES)[number]

export interface Column {
  key: string
  label: string
  type: CellType
  align: 'left' | 'right' | 'center'
}

export interface Sorting {
  key: string
  direction: 'asc' | 'desc'
}

export const MOST_COLUMNS = 50
export const MOST_ROWS = 5_000
/** How many rows are looked at to see what a column holds. */
const LOOKED_AT = 50

export const rowsOf = (props: Fields): unknown[] => listOf(props['rows'], MOST_ROWS)

/** The columns that are told, or the keys of the first row. Rows that are lists are read by place. */
export function columnsOf(props: Fields): Column[] {
  const rows = rowsOf(props)
  const told = listOf(props['columns'], MOST_COLUMNS)
  const [first] = rows
  const keys: unknown[] =
    told.length > 0
      ? told
      : isFields(first)
        ? Object.keys(first).slice(0, MOST_COLUMNS)
        : Array.isArray(first)
          ? first.slice(0, MOST_COLUMNS).map((_, at) => ({ key: String(at), label: `Column ${at + 1}` }))
          : []
  return keys.map((column, at) => {
    const fields: Fields = isFields(column) ? column : { key: textOf(column) }
    const key = textOf(fields['key'])
    const type = wordOf(fields['type'], CELL_TYPES) ?? guess(rows, key, at)
    const align =
      wordOf(fields['align'], ['left', 'right', 'center'] as const) ?? (type === 'number' ? 'right' : 'left')
    return { key, label: textOf(fields['label']) || key.replaceAll('_', ' '), type, align }
  })
}

function guess(rows: unknown[], key: string, at: number): CellType {
  const cells = rows
    .slice(0, LOOKED_AT)
    .map((row) => cellOf(row, key, at))
    .filter((cell) => cell !== undefined && cell !== null)
  if (cells.length === 0) return 'text'
  if (cells.every((cell) => numberOf(cell) !== undefined)) return 'number'
  return cells.every((cell) => typeof cell === 'boolean') ? 'boolean' : 'text'
}

export const cellOf = (row: unknown, key: string, at: number): unknown =>
  Array.isArray(row) ? (row as unknown[])[at] : isFields(row) && Object.hasOwn(row, key) ? row[key] : undefined

/** The places of the rows in the order of a column. What is equal stays in its order; what is missing comes last, either way. */
export function sorted(rows: unknown[], columns: Column[], sorting: Sorting | undefined): number[] {
  const places = rows.map((_, at) => at)
  const at = columns.findIndex(({ key }) => key === sorting?.key)
  const column = columns[at]
  if (!column || !sorting) return places
  const keys = rows.map((row) => sortKey(cellOf(row, column.key, at), column.type))
  const way = sorting.direction === 'desc' ? -1 : 1
  return places.sort((a, b) => compare(keys[a], keys[b], way) || a - b)
}

function sortKey(cell: unknown, type: CellType): number | string | undefined {
  if (cell === null || cell === undefined || cell === '') return undefined
  if (typeof cell === 'boolean') return cell ? 1 : 0
  const amount = numberOf(cell)
  if (amount !== undefined) return amount
  const text = textOf(cell)
  if (type === 'date') return momentOf(text) ?? text
  const read = type === 'number' ? Number(text) : NaN
  return Number.isNaN(read) ? text : read
}

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

function compare(a: number | string | undefined, b: number | string | undefined, way: number): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1
  if (typeof a === 'number' && typeof b === 'number') return (a - b) * way
  return names.compare(String(a), String(b)) * way
}

/** Which sorting the next press on a column's head gives: up, down, as it came. */
export function nextSorting(now: Sorting | undefined, key: string): Sorting | undefined {
  if (now?.key !== key) return { key, direction: 'asc' }
  return now.direction === 'asc' ? { key, direction: 'desc' } : undefined
}

export const sortingOf = (given: unknown): Sorting | undefined =>
  isFields(given) && textOf(given['key']) !== ''
    ? { key: textOf(given['key']), direction: given['direction'] === 'desc' ? 'desc' : 'asc' }
    : undefined

/** What a row is called among the others, so that what was chosen stays chosen when rows come and go. */
export const nameOf = (row: unknown, at: number, rowKey: string) =>
  isFields(row) && rowKey !== '' && Object.hasOwn(row, rowKey) ? `k${JSON.stringify(row[rowKey])}` : `n${at}`
