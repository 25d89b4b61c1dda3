// Brings a view forward without changing the one that is there: what changed is new, what did not is the same object. For frameworks that compare.

import { apply } from './apply.js'
import type { Op, View } from './types.js'

type Fields = Record<string, unknown>

/** The view after one change. */
export function applied(view: View, op: Op): View {
  const next = { ...view }
  let node = next as unknown as Fields
  const parents = op.op === 'remove' ? op.path.slice(0, -1) : op.path
  for (const [depth, id] of parents.entries()) {
    const child = copyList(node, depth).findLast((child) => child['id'] === id)
    // Something that is not here is for somebody who holds more.
    if (!child) return view
    const copy = { ...child }
    const list = copyList(node, depth)
    list[list.lastIndexOf(child)] = copy
    node[nameOf(depth)] = list
    node = copy
  }
  if (op.op === 'insert' || op.op === 'remove') node[nameOf(parents.length)] = copyList(node, parents.length)
  apply(next, op)
  return next
}

const nameOf = (depth: number) => (depth === 0 ? 'messages' : 'blocks')
const copyList = (node: Fields, depth: number): Fields[] => [...((node[nameOf(depth)] ?? []) as Fields[])]
