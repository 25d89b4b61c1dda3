// What a component is, read from its properties. The page knows a few kinds; what it does not know it shows as it is and says so.

import type { Component } from 'turnloom'

export interface Action {
  name: string
  label: string
  payload?: unknown
}

export type Drawing =
  | { kind: 'bars'; bars: { label: string; value: number; share: number }[] }
  | { kind: 'table'; columns: string[]; rows: unknown[][] }
  | { kind: 'text'; text: string }
  | { kind: 'progress'; value: number; max: number }
  | { kind: 'unknown' }

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function fieldsOf({ props }: Component): Fields {
  return isFields(props) ? props : {}
}

export function titleOf(component: Component): string {
  const { title, label } = fieldsOf(component)
  return typeof title === 'string' ? title : typeof label === 'string' ? label : component.name
}

/** What a person may press in it. */
export function actionsOf(component: Component): Action[] {
  const { actions, callbacks } = fieldsOf(component)
  return [...listOf(actions), ...listOf(callbacks)].flatMap((action) => {
    if (typeof action === 'string') return [{ name: action, label: action }]
    if (!isFields(action)) return []
    const name = action['action'] ?? action['name'] ?? action['id']
    if (typeof name !== 'string') return []
    const label = typeof action['label'] === 'string' ? action['label'] : name
    return [{ name, label, ...('payload' in action ? { payload: action['payload'] } : {}) }]
  })
}

/** How the rest of it is drawn. */
export function drawingOf(component: Component): Drawing {
  const fields = fieldsOf(component)
  const name = component.name.toLowerCase()
  if (name.includes('chart')) return bars(fields)
  if (name.includes('table')) return table(fields)
  if (name.includes('progress') && typeof fields['value'] === 'number') {
    const max = typeof fields['max'] === 'number' && fields['max'] > 0 ? fields['max'] : 1
    return { kind: 'progress', value: fields['value'], max }
  }
  const text = fields['markdown'] ?? fields['text'] ?? fields['content']
  if (typeof text === 'string' && /text|markdown|note|document|message/.test(name)) return { kind: 'text', text }
  return { kind: 'unknown' }
}

/** What is left to be shown of properties as they are. */
export function restOf(component: Component): Fields {
  const shown = new Set(['actions', 'callbacks', 'title'])
  return Object.fromEntries(Object.entries(fieldsOf(component)).filter(([name]) => !shown.has(name)))
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  // A table of names to labels, or to whatever the agent keeps there.
  return isFields(value)
    ? Object.entries(value).map(([name, label]) => ({ name, label: typeof label === 'string' ? label : name }))
    : []
}

function bars({ values, labels }: Fields): Drawing {
  if (!Array.isArray(values) || values.length === 0) return { kind: 'unknown' }
  const numbers = values.map((value) => (isFields(value) ? value['value'] : value))
  if (!numbers.every((value) => typeof value === 'number' && Number.isFinite(value))) return { kind: 'unknown' }
  const most = Math.max(...numbers.map(Math.abs), Number.MIN_VALUE)
  const labelAt = (at: number) => {
    const own = values[at] as unknown
    const label = isFields(own) ? own['label'] : Array.isArray(labels) ? (labels[at] as unknown) : undefined
    return typeof label === 'string' ? label : String(at + 1)
  }
  return {
    kind: 'bars',
    bars: numbers.map((value, at) => ({ label: labelAt(at), value, share: Math.abs(value) / most })),
  }
}

function table({ columns, rows }: Fields): Drawing {
  if (!Array.isArray(rows)) return { kind: 'unknown' }
  const first: unknown = rows[0]
  const names: string[] = Array.isArray(columns) ? columns.map(String) : isFields(first) ? Object.keys(first) : []
  const cells = rows.map((row) =>
    Array.isArray(row) ? (row as unknown[]) : isFields(row) ? names.map((name) => row[name]) : [row],
  )
  return { kind: 'table', columns: names, rows: cells }
}
