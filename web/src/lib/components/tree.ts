// A tree as rows: what is open, how deep each stands, and where it is in the whole.

import { listOf, rowsOf, textOf, toneOf, type Fields, type Tone } from './read'

const MOST_NODES = 5_000
const DEEPEST = 30

export interface TreeRow {
  /** Places from the top: also what the agent is told. */
  path: number[]
  /** What it is called while it is open or shut: its own id, or its path. */
  key: string
  id: string
  label: string
  detail: string
  badge: string
  tone: Tone
  depth: number
  /** How many stand beside it, and which of them it is. */
  of: number
  at: number
  open: boolean
  parent: boolean
}

/** The rows that are seen. `opened` is what a person did; without that a node says itself whether it is open. */
export function treeRows(nodes: unknown, opened: Record<string, boolean>): TreeRow[] {
  const rows: TreeRow[] = []
  walk(nodes, [], rows, opened)
  return rows
}

function walk(nodes: unknown, above: number[], rows: TreeRow[], opened: Record<string, boolean>): void {
  const list = rowsOf(nodes, MOST_NODES)
  for (const [at, node] of list.entries()) {
    if (rows.length >= MOST_NODES) return
    const path = [...above, at]
    const id = textOf(node['id'])
    const key = id || path.join('/')
    const inside = childrenOf(node)
    const parent = inside.length > 0 && above.length < DEEPEST
    const open = parent && (opened[key] ?? node['expanded'] === true)
    rows.push({
      path,
      key,
      id,
      label: textOf(node['label']),
      detail: textOf(node['detail']),
      badge: textOf(node['badge']),
      tone: toneOf(node['tone']),
      depth: above.length,
      of: list.length,
      at,
      open,
      parent,
    })
    if (open) walk(inside, path, rows, opened)
  }
}

const childrenOf = (node: Fields) => listOf(node['children'], MOST_NODES)

/** The row above it in the tree; the first, where there is none. */
export const parentOf = (rows: TreeRow[], at: number) => {
  const depth = rows[at]?.depth ?? 0
  for (let up = at - 1; up >= 0; up--) if ((rows[up]?.depth ?? 0) < depth) return up
  return at
}
