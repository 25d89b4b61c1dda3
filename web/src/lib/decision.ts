// What the rules decided about a call, in words.

import type { PolicyEffect, RuleScope } from 'turnloom'

/** What stands between backticks is exact. */
export function exactParts(text: string): { text: string; exact: boolean }[] {
  return text.split('`').flatMap((part, at) => (part ? [{ text: part, exact: at % 2 === 1 }] : []))
}

/** Where a rule that decided comes from, in words around its name. */
export interface Origin {
  /** Nothing, where the name says nothing to a person. */
  name?: string
  of: string
}

const REACHES: Partial<Record<RuleScope, string>> = {
  session: 'in this session',
  project: 'in this project',
  user: 'everywhere',
}

/** A decision names its rule by the place where it stands and its name there: `implement/git`. */
export function originOf({ rule, scope }: { rule: string; scope: RuleScope }): Origin {
  const cut = rule.indexOf('/')
  const [place, name] = [rule.slice(0, cut), rule.slice(cut + 1)]
  if (cut < 0) return { name: rule, of: '' }
  if (scope === 'mode') {
    if (name === 'default') return { of: `what ${place} mode does with everything else` }
    if (name === 'agent') return { of: 'the agent itself' }
    return { name, of: `of ${place} mode` }
  }
  switch (place) {
    case 'absolute':
      return { name, of: 'which holds in every mode' }
    case 'always':
      return { of: `what was always allowed ${REACHES[scope] ?? ''}`.trim() }
    case 'project':
      return { name, of: 'of this project' }
    case 'session':
      return { name, of: 'of this session' }
    default:
      return { name, of: 'of your rules' }
  }
}

/** How it is said what the rules decided about a call. */
export const DECISION_WORDS: Record<PolicyEffect, string> = {
  allow: 'Allowed by',
  ask: 'Asked about by',
  deny: 'Denied by',
}
