// The rules that "always" could store: what each would allow, and how far it would reach. Which are offered is the daemon's to decide.

import type { PermissionOption } from 'turnloom'

export type Scope = NonNullable<PermissionOption['scope']>

/** One thing that could always be allowed, with the rule for each reach. */
export interface Allowance {
  what: string
  rules: Partial<Record<Scope, string>>
}

export const REACHES: readonly (readonly [Scope, string])[] = [
  ['session', 'In this session'],
  ['project', 'In this project'],
  ['user', 'Everywhere'],
]

const SUFFIXES: Partial<Record<Scope, string>> = {
  session: ' in this session',
  project: ' in this project',
  user: ' everywhere',
}

/** What the label says without the words around it, which the choice of a reach repeats. */
function whatOf(label: string, scope: Scope): string {
  const suffix = SUFFIXES[scope] ?? ''
  const words = suffix && label.endsWith(suffix) ? label.slice(0, -suffix.length) : label
  return words.replace(/^Always /, '')
}

/** The offers of an ask, from narrow to wide. Choices that the agent itself offers are not among them. */
export function allowances(options: readonly PermissionOption[]): Allowance[] {
  const found = new Map<string, Allowance>()
  for (const { reply, label, rule, scope } of options) {
    if (reply !== 'always' || !scope || !rule) continue
    const what = whatOf(label, scope)
    const known = found.get(what) ?? { what, rules: {} }
    known.rules[scope] = rule
    found.set(what, known)
  }
  return [...found.values()]
}
