// How long the steps between a person and the agent take, measured where the person is. Shown in the inspector, and told to the daemon's metrics.

import type { PageTiming } from 'turnloom'
import { api } from './api'

export const STEPS = [
  ['submit', 'shown', 'Submit to shown'],
  ['sent', 'accepted', 'Send to accepted'],
  ['accepted', 'first_event', 'Accepted to first event'],
  ['first_event', 'first_status', 'First event to first status'],
  ['first_status', 'first_text', 'Status to first text'],
  ['first_text', 'painted', 'Text to paint'],
  ['open', 'shell', 'Open session to shell'],
  ['open', 'live', 'Open session to live'],
  ['open', 'messages', 'Open session to messages'],
  ['open', 'idle', 'Open session to rest'],
] as const

type Step = (typeof STEPS)[number]
type Mark = Step[0] | Step[1]

/** What the daemon calls a step. */
type NameOf<S> = S extends readonly [infer From extends string, infer To extends string, string]
  ? `${From}_to_${To}`
  : never
const nameOf = ([from, to]: Step) => `${from}_to_${to}` as NameOf<Step>

/** What each mark begins anew: marks that came before it in an earlier round do not count. */
const RESETS: Partial<Record<Mark, Mark[]>> = {
  submit: ['shown'],
  sent: ['accepted', 'first_event', 'first_status', 'first_text', 'painted'],
  open: ['shell', 'live', 'messages', 'idle'],
}

/** How often the backlog is told of. */
const BACKLOG_MS = 1000

/** How long measurements are collected before they are sent together. */
const COLLECT_MS = 2000

class Timings {
  #waiting: PageTiming[] = []
  #marks = $state<Partial<Record<Mark, number>>>({})

  /** Notes the first time something happens in a round. */
  mark(mark: Mark, at: number = performance.now()): void {
    const resets = RESETS[mark]
    if (resets) {
      for (const later of resets) delete this.#marks[later]
      if (mark === 'open') this.backlog = { depth: 0, age: 0, worstDepth: 0, worstAge: 0 }
      this.#marks[mark] = at
    } else if (this.#marks[mark] === undefined) {
      this.#marks[mark] = at
      for (const step of STEPS) {
        const [from, to] = step
        const start = this.#marks[from]
        if (to === mark && start !== undefined) this.#tell(nameOf(step), Math.max(0, at - start))
        // What is heard may be quicker than the answer to what was asked.
        if (from === mark && this.#marks[to] !== undefined) this.#tell(nameOf(step), 0)
      }
    }
  }

  /** Changes that came and are not painted yet. */
  #unpainted = 0
  #oldest = 0
  #told = -Infinity
  /** The backlog at the last paint, and the worst since the session was opened. */
  backlog = $state.raw({ depth: 0, age: 0, worstDepth: 0, worstAge: 0 })

  /** A change has come; it waits for the next paint. */
  arrived(): void {
    this.#unpainted += 1
    if (this.#unpainted > 1) return
    this.#oldest = performance.now()
    // A page that is not seen is not painted; then there is nothing to measure.
    if (document.visibilityState === 'hidden') this.#unpainted = 0
    else requestAnimationFrame(() => setTimeout(() => this.#painted()))
  }

  #painted(): void {
    const now = performance.now()
    const [depth, age] = [this.#unpainted, now - this.#oldest]
    this.#unpainted = 0
    const { worstDepth, worstAge } = this.backlog
    this.backlog = { depth, age, worstDepth: Math.max(depth, worstDepth), worstAge: Math.max(age, worstAge) }
    if (now - this.#told < BACKLOG_MS) return
    this.#told = now
    this.#tell('backlog_age', age)
  }

  /** Measurements are for whoever runs the daemon; that they do not arrive is nobody's trouble here. */
  #tell(step: PageTiming['step'], ms: number): void {
    if (this.#waiting.length === 0) {
      setTimeout(() => void api.reportTimings(this.#waiting.splice(0)).catch(() => undefined), COLLECT_MS)
    }
    this.#waiting.push({ step, ms })
  }

  /** The first paint after what was just put on the page. */
  markPaint(mark: Mark): void {
    if (this.#marks[mark] === undefined) requestAnimationFrame(() => setTimeout(() => this.mark(mark)))
  }

  has(mark: Mark): boolean {
    return this.#marks[mark] !== undefined
  }

  get rows(): { label: string; ms: number | undefined }[] {
    return STEPS.map(([from, to, label]) => {
      const [start, end] = [this.#marks[from], this.#marks[to]]
      return { label, ms: start === undefined || end === undefined ? undefined : Math.max(0, end - start) }
    })
  }
}

export const timings = new Timings()
