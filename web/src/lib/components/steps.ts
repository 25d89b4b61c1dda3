// The steps of a plan that people edit, and what each act makes of them. The same functions draw an act at once and write it into the shared state.

import { isFields, listOf, numberOf, textOf, wordOf, type Fields } from './read'

const MOST_STEPS = 200
export const STEP_STATES = ['pending', 'running', 'done', 'skipped', 'failed'] as const
export type StepState = (typeof STEP_STATES)[number]

export interface Step {
  /** What it is called while it is moved about: its id, or its words and which of these it is. */
  key: string
  words: string
  detail: string
  state: StepState
  approved: boolean
  /** As it came: what is sent back. */
  given: unknown
}

export function stepsOf(props: Fields): Step[] {
  const now = numberOf(props['current_step']) ?? -1
  const seen = new Map<string, number>()
  return listOf(props['steps'], MOST_STEPS).map((given, at) => {
    const fields: Fields = isFields(given) ? given : {}
    const words = isFields(given) ? textOf(given['description']) || textOf(given['text']) : textOf(given)
    const name = textOf(fields['id']) || words
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    const told = wordOf(fields['status'], STEP_STATES)
    return {
      key: `${name}\n${count}`,
      words,
      detail: textOf(fields['detail']),
      state: told ?? (at === now ? 'running' : at < now ? 'done' : 'pending'),
      approved: fields['approved'] === true,
      given,
    }
  })
}

/** A list with one of its entries elsewhere. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list]
  const [one] = next.splice(from, 1)
  if (one === undefined) return next
  next.splice(Math.max(0, Math.min(next.length, to)), 0, one)
  return next
}

/** Other words for a step; a text stays a text, and an object keeps what else it says. */
export function reworded(step: unknown, words: string): unknown {
  if (!isFields(step)) return words
  return 'description' in step || !('text' in step) ? { ...step, description: words } : { ...step, text: words }
}

/** A new step, as the others are written. */
const added = (steps: unknown[], words: string): unknown => (isFields(steps[0]) ? { description: words } : words)

/** What the steps are after an act; nothing for an act that does not change them. */
export function afterAct(steps: unknown[], action: string, payload: Fields): unknown[] | undefined {
  const at = numberOf(payload['step_index']) ?? -1
  const words = textOf(payload['description'])
  switch (action) {
    case 'reorder_steps':
      return Array.isArray(payload['steps']) ? (payload['steps'] as unknown[]) : undefined
    case 'edit_step':
      return steps.map((step, place) => (place === at ? reworded(step, words) : step))
    case 'add_step':
      return [...steps.slice(0, at), added(steps, words), ...steps.slice(at)]
    case 'remove_step':
      return steps.filter((_, place) => place !== at)
    case 'approve_step':
      return steps.map((step, place) =>
        place === at ? { ...(isFields(step) ? step : { description: textOf(step) }), approved: true } : step,
      )
    default:
      return undefined
  }
}
