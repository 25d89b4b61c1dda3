// Proposed rules, tried on what was recorded: some sessions at a time, so that it is seen how far it is, and can be left.

import type { ChangedCall, RulesTest, WouldBe } from 'turnloom'
import { api } from './api'
import { problemOf, type Problem } from './problem'

/** Sessions that are asked for at a time. */
const STEP = 20
/** Calls that are held to be shown; all are counted. */
export const HELD = 5_000

export interface Found {
  sessions: number
  calls: number
  not_judged: number
  counts: RulesTest['counts']
  changed: ChangedCall[]
}

export const NOTHING: Found = { sessions: 0, calls: 0, not_judged: 0, counts: [], changed: [] }

/** What was found so far and what came to it. */
export function together(found: Found, more: RulesTest): Found {
  const counts = found.counts.map((count) => ({ ...count }))
  for (const { old, new: then, calls } of more.counts) {
    const known = counts.find((count) => count.old === old && count.new === then)
    if (known) known.calls += calls
    else counts.push({ old, new: then, calls })
  }
  return {
    sessions: found.sessions + more.sessions,
    calls: found.calls + more.calls,
    not_judged: found.not_judged + more.not_judged,
    counts,
    changed: [...found.changed, ...more.changed].slice(0, HELD),
  }
}

export const changedCalls = (counts: RulesTest['counts']) => counts.reduce((sum, { calls }) => sum + calls, 0)

export const WOULD_BE: Record<WouldBe, string> = {
  allow: 'allowed',
  ask: 'asked about',
  deny: 'denied',
  agent: 'up to the agent',
}

/** What a person may choose, in days; nothing is all there is. */
export const SINCE: readonly (readonly [words: string, days: number | undefined])[] = [
  ['the last day', 1],
  ['the last 7 days', 7],
  ['the last 30 days', 30],
  ['the beginning', undefined],
]

export function sinceOf(days: number | undefined, now: number): string | undefined {
  return days === undefined ? undefined : new Date(now - days * 86_400_000).toISOString()
}

export class Trial {
  state = $state<'none' | 'running' | 'done' | 'left' | 'failed'>('none')
  found = $state.raw<Found>(NOTHING)
  problem = $state.raw<Problem>()
  #running: AbortController | undefined

  async run(rules: string, since: string | undefined): Promise<void> {
    this.#running?.abort()
    const running = new AbortController()
    this.#running = running
    this.state = 'running'
    this.found = NOTHING
    this.problem = undefined
    let cursor: string | undefined
    try {
      do {
        const asked = { rules, sessions: STEP, ...(since ? { since } : {}), ...(cursor ? { cursor } : {}) }
        const part = await api.testRules(asked, { signal: running.signal })
        if (running.signal.aborted) return
        this.found = together(this.found, part)
        cursor = part.next_cursor
      } while (cursor !== undefined)
      this.state = 'done'
    } catch (error) {
      if (running.signal.aborted) return
      this.problem = problemOf(error)
      this.state = 'failed'
    }
  }

  /** What was found until then stays. */
  leave(): void {
    this.#running?.abort()
    if (this.state === 'running') this.state = 'left'
  }
}
