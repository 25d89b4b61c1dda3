// How a turn that did not complete ended, said once and in a person's words.

import type { Message } from 'turnloom'

/** This page signs what it does as `web`. */
const who = (by: string) => (by === 'web' ? 'you' : by === 'cli' ? 'you, in a terminal' : by)

const REASONS: [RegExp, (by: string) => string][] = [
  [/^stopped by (.+)$/, (by) => `Stopped by ${who(by)}`],
  [/^rejected and stopped by (.+)$/, (by) => `Stopped by ${who(by)}, with a rejection`],
  [/^(.+) did not let the imported session run$/, (by) => `Not run: ${who(by)} did not let it`],
  [/^archived by (.+)$/, (by) => `Stopped: archived by ${who(by)}`],
  [/^the daemon (ended|is shutting down)/, () => 'Cut off: Turnloom was restarted'],
  [/^the agent's process ended$/, () => 'Cut off: the agent ended'],
]

const OUTCOMES = { completed: '', stopped: 'Stopped', interrupted: 'Interrupted', failed: 'Failed' }

export function endWords({ outcome, reason }: Pick<Message, 'outcome' | 'reason'>): string {
  if (outcome === undefined || outcome === 'completed') return ''
  for (const [pattern, words] of REASONS) {
    const found = pattern.exec(reason ?? '')
    if (found) return words(found[1] ?? '')
  }
  return reason ? `${OUTCOMES[outcome]} · ${reason}` : OUTCOMES[outcome]
}

/** Why something was cut off, as a sentence begins. */
export function causeOf(reason: string): string {
  if (/^the daemon /.test(reason)) return 'Turnloom was restarted'
  if (/^the agent/.test(reason)) return 'The agent ended'
  return reason.charAt(0).toUpperCase() + reason.slice(1)
}

/** Whether something says nothing but why its turn ended. */
export function isReason(text: string): boolean {
  return (
    REASONS.some(([pattern]) => pattern.test(text)) ||
    /^the (turn|agent|sub-agent|session) (ended|failed|was \w+)$/.test(text)
  )
}
