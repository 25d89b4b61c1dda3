// A runtime's own settings, as a person reads and writes them. Which values make sense is the daemon's to say.

import type { Setting } from 'turnloom'

/** `approval_policy` is "Approval policy". */
export function settingName(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What a field shows: nothing for what was never set. An object is shown as it would be written. */
export function settingText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What differs from what is known. An empty field says nothing: a setting cannot be taken back, only changed. */
export function changedSettings(
  settings: readonly Setting[],
  known: Record<string, unknown> | undefined,
  drafts: Record<string, string>,
): Record<string, unknown> {
  const changed: Record<string, unknown> = {}
  for (const { name, takes } of settings) {
    const draft = (drafts[name] ?? '').trim()
    if (draft !== '' && draft !== settingText(known?.[name])) changed[name] = valueOf(draft, takes)
  }
  return changed
}

/** What is not written as its kind wants it goes to the daemon as text, and comes back with what is wrong. */
export function valueOf(draft: string, takes: Setting['takes']): unknown {
  if (takes === 'number' && /^\d+$/.test(draft)) return Number(draft)
  if (takes === 'decimal' && /^\d+(\.\d+)?$/.test(draft)) return Number(draft)
  if (takes === 'flag' && /^(true|false)$/.test(draft)) return draft === 'true'
  if ((takes === 'choice_or_object' || takes === 'object') && draft.startsWith('{')) {
    try {
      return JSON.parse(draft)
    } catch {
      return draft
    }
  }
  return draft
}
