// Brings a view forward without changing the one that is there: what changed is new, what did not is the same object. For frameworks that compare.

import { apply, childrenOf, COMPONENTS, idOf } from './apply.js'
import type { Op, View } from './types.js'

type Fields = Record<string, unknown>

/** The view after one change. */
export function applied(view: View, op: Op): View {
  const next = { ...view }
  let node = next as unknown as Fields
  const parents = op.op === 'remove' ? op.path.slice(0, -1) : op.path
  for (const [depth, id] of parents.entries()) {
    // The list itself belongs to the view.
    if (depth === 0 && id === COMPONENTS) continue
    const name = childrenOf(parents.slice(0, depth))
    const list = copyList(node, name)
    const child = list.findLast((child) => idOf(child) === id)
    // Something that is not here is for somebody who holds more.
    if (!child) return view
    const copy = { ...child }
    list[list.lastIndexOf(child)] = copy
    node[name] = list
    node = copy
  }
  if (op.op === 'insert' || op.op === 'remove') node[childrenOf(parents)] = copyList(node, childrenOf(parents))
  apply(next, op)
  return next
}

const copyList = (node: Fields, name: string): Fields[] => [...((node[name] ?? []) as Fields[])]
