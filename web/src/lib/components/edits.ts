// What people change in a component that shows a part of the shared state: not told as an act, but written into that state.

import type { PatchOperation } from 'turnloom'
import { isFields, type Fields } from './read'
import { afterAct } from './steps'

export interface Bind {
  pointer: string
  as?: string
  edits?: boolean
}

/** Acts that change the steps of a plan and nothing else. */
const STEP_EDITS = new Set(['reorder_steps', 'edit_step', 'add_step', 'remove_step'])

/** The patch that an act comes to; nothing where the agent has to be told of it. It fails where the state has changed meanwhile. */
export function patchOf(
  state: unknown,
  bind: Bind | undefined,
  action: string,
  payload: unknown,
): PatchOperation[] | undefined {
  if (bind?.edits !== true || !isFields(payload)) return undefined
  const old = valueAtPointer(state, bind.pointer)
  const next = nextValue(old, bind, action, payload)
  if (next === undefined) return undefined
  return [
    { op: 'test', path: bind.pointer, value: old },
    { op: 'replace', path: bind.pointer, value: next },
  ]
}

function nextValue(old: unknown, { as }: Bind, action: string, payload: Fields): unknown {
  if (action === 'change') {
    const values = payload['values']
    return isFields(old) && isFields(old['values'])
      ? { ...old, values }
      : as === 'values' || !isFields(old)
        ? values
        : { ...old, values }
  }
  if (!STEP_EDITS.has(action)) return undefined
  if (Array.isArray(old)) return afterAct(old, action, payload)
  const steps = isFields(old) && Array.isArray(old['steps']) ? afterAct(old['steps'], action, payload) : undefined
  return steps && isFields(old) ? { ...old, steps } : undefined
}

export function valueAtPointer(value: unknown, pointer: string): unknown {
  if (pointer === '') return value
  let here = value
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(here)) here = (here as unknown[])[Number(key)]
    else if (isFields(here) && Object.hasOwn(here, key)) here = here[key]
    else return undefined
  }
  return here
}
