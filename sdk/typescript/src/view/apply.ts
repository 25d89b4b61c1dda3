// Brings a view forward. The fold itself lives in the daemon; a client only applies its smallest changes. Not here: the connection.
// Works on plain objects and on reactive ones alike: it changes exactly the fields that changed, so that a delta touches one text node.

import type { Op } from './types.js'

type Fields = Record<string, unknown>

/** What a path begins with that leads to the components beside the conversation. No message has such an id. */
export const COMPONENTS = '@components'

/** Applies one change. One to something that is not here is for somebody who holds more. */
export function apply(view: object, op: Op): void {
  const parents = op.op === 'remove' ? op.path.slice(0, -1) : op.path
  const node = find(view as Fields, parents)
  if (!node) return
  const children = childrenOf(parents)
  if (op.op === 'append') {
    const known = node[op.field]
    node[op.field] = (typeof known === 'string' ? known : '') + op.text
  } else if (op.op === 'set') {
    for (const [name, value] of Object.entries(op.fields)) {
      if (value === null) delete node[name]
      else node[name] = value
    }
  } else if (op.op === 'insert') {
    const inserted = op.node as unknown as Fields
    if (Array.isArray(node[children])) (node[children] as Fields[]).push(inserted)
    else node[children] = [inserted]
  } else if (op.op === 'remove') {
    const list = (node[children] ?? []) as Fields[]
    const at = list.findLastIndex((child) => idOf(child) === op.path.at(-1))
    if (at >= 0) list.splice(at, 1)
  }
}

/** Where the children are of what a path leads to. */
export function childrenOf(path: string[]): 'messages' | 'blocks' | 'components' {
  if (path.length === 0) return 'messages'
  return path[0] === COMPONENTS ? 'components' : 'blocks'
}

export function idOf(child: Fields): unknown {
  return child['id'] ?? child['component_id']
}

function find(view: Fields, path: string[]): Fields | undefined {
  let node: Fields | undefined = view
  for (const [depth, id] of path.entries()) {
    // The list itself belongs to the view.
    if (depth === 0 && id === COMPONENTS) continue
    const list = node[childrenOf(path.slice(0, depth))] as Fields[] | undefined
    // What changes is nearly always the newest.
    node = list?.findLast((child) => idOf(child) === id)
    if (!node) return undefined
  }
  return node
}

/**
 * Makes a view that is shown equal to a newer snapshot, in place: what did not change stays the same object, so the page keeps its place.
 * Older messages that were paged in stay, as long as there is no gap between them and the snapshot.
 */
export function reconcile(view: object, snapshot: object): void {
  const held = view as Fields
  const fresh = { ...(snapshot as Fields) }
  const list = (held['messages'] ?? []) as Fields[]
  const newest = (fresh['messages'] ?? []) as Fields[]
  const start = list.findIndex((message) => message['id'] === newest[0]?.['id'])
  if (start > 0 && fresh['before'] !== undefined) {
    fresh['messages'] = [...list.slice(0, start), ...newest]
    fresh['before'] = held['before']
  }
  merge(held, fresh)
}

function merge(held: Fields, fresh: Fields): void {
  for (const name of Object.keys(held)) if (fresh[name] === undefined) delete held[name]
  for (const [name, value] of Object.entries(fresh)) {
    const known = held[name]
    if (value === undefined || known === value) continue
    if ((name === 'messages' || name === 'blocks' || name === 'components') && Array.isArray(known))
      mergeChildren(known, value as Fields[])
    else if (!alike(known, value)) held[name] = value
  }
}

/** What is nested too deeply to be written down counts as changed. */
function alike(known: unknown, value: unknown): boolean {
  try {
    return JSON.stringify(known) === JSON.stringify(value)
  } catch {
    return false
  }
}

function mergeChildren(held: Fields[], fresh: Fields[]): void {
  const known = new Map(held.map((child) => [idOf(child), child]))
  const next = fresh.map((child) => {
    const same = known.get(idOf(child))
    if (!same || same === child) return child
    merge(same, child)
    return same
  })
  if (next.length !== held.length || next.some((child, at) => child !== held[at])) held.splice(0, held.length, ...next)
}
