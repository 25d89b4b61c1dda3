// How a change of a component's props is made: the five modes, as the daemon makes them. Nothing that is given is changed.

import { applyPatch, isObject, PatchError, without } from '../patch.js'
import type { PatchOperation } from '../types.js'

/** How new props are put to those that are there. */
export type MergeMode = 'replace' | 'shallow' | 'deep' | 'append' | 'patch'

export type Props = Record<string, unknown>

/** What a `component_update` says about props. */
export interface PropsChange {
  props?: unknown
  /** For those that know no `mode`: `true` is `shallow`, `false` is `replace`. */
  merge?: boolean | undefined
  mode?: MergeMode | string | null | undefined
  patch?: unknown
}

/** The props after a change. A patch that does not fit changes nothing, and neither do props that are no object. */
export function mergeProps(props: unknown, change: PropsChange): Props {
  const base = isObject(props) ? props : {}
  const given = change.props ?? {}
  if (!isObject(given)) return base
  switch (change.mode ?? (change.merge ? 'shallow' : 'replace')) {
    case 'shallow':
      return { ...base, ...given }
    case 'deep':
      return mergeDeep(base, given)
    case 'append':
      return appendTo(base, given)
    case 'patch':
      return patchProps(base, change.patch)
    default:
      return given
  }
}

/** RFC 7396: objects merge, `null` removes, everything else is replaced. */
function mergeDeep(base: unknown, change: Props): Props {
  let merged: Props = isObject(base) ? base : {}
  for (const [key, value] of Object.entries(change)) {
    if (value === null) merged = without(merged, key)
    else {
      const known = Object.hasOwn(merged, key) ? merged[key] : undefined
      merged = { ...merged, [key]: isObject(value) ? mergeDeep(known, value) : value }
    }
  }
  return merged
}

/** Lists and texts grow, everything else is replaced. */
function appendTo(base: Props, change: Props): Props {
  const joined = Object.entries(change).map(([key, value]): [string, unknown] => {
    const known = Object.hasOwn(base, key) ? base[key] : undefined
    if (Array.isArray(known) && Array.isArray(value)) return [key, [...(known as unknown[]), ...(value as unknown[])]]
    if (typeof known === 'string' && typeof value === 'string') return [key, known + value]
    return [key, value]
  })
  return { ...base, ...Object.fromEntries(joined) }
}

function patchProps(base: Props, patch: unknown): Props {
  try {
    const patched = applyPatch(base, patch as PatchOperation[])
    return isObject(patched) ? patched : base
  } catch (error) {
    if (error instanceof PatchError) return base
    throw error
  }
}
