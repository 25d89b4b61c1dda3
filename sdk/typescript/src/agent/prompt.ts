// One turn, as an agent sees it: what was asked, whether it was stopped, and how it ends.

import { failureOf, Stopped } from './errors.js'
import type { PromptMessage } from './messages.js'

export interface TurnEnd {
  outcome: 'completed' | 'failed' | 'interrupted'
  reason?: string
  failure?: { message: string; code: string; retryable: boolean; fix?: string }
}

export class Prompt {
  readonly turnId: string
  readonly messages: readonly PromptMessage[]
  /** Messages that came while the turn ran, when nobody else takes them (`agent.onSteer`). */
  readonly more: PromptMessage[] = []
  readonly #stop = new AbortController()
  readonly #say: (prompt: Prompt, end: TurnEnd) => Promise<void>
  readonly #inside: <T>(prompt: Prompt, work: () => T) => T
  readonly #graceMs: number
  #end: Promise<void> | undefined

  constructor(
    turnId: string,
    messages: readonly PromptMessage[],
    how: {
      say: (prompt: Prompt, end: TurnEnd) => Promise<void>
      inside: <T>(prompt: Prompt, work: () => T) => T
      graceMs: number
    },
  ) {
    this.turnId = turnId
    this.messages = messages
    this.#say = how.say
    this.#inside = how.inside
    this.#graceMs = how.graceMs
  }

  /** The texts of its messages. */
  get text(): string {
    return this.messages
      .flatMap(({ content }) => content)
      .flatMap((part) => (part.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
      .join('\n\n')
  }

  /** Aborted with a `Stopped` when the turn is stopped, and when its session is gone. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get isOver(): boolean {
    return this.#end !== undefined
  }

  /**
   * Does the work of the turn and ends it: `completed`, `failed` with what it throws, or `interrupted` when it was stopped. Nothing is thrown.
   * Work that goes on after a stop is waited for a moment; what it says later is said into the void.
   */
  async run(work: (signal: AbortSignal) => unknown): Promise<void> {
    let patience: ReturnType<typeof setTimeout> | undefined
    if (this.signal.aborted) return this.end()
    const givenUp = new Promise<never>((_, reject) => {
      const wait = () => (patience = setTimeout(() => reject(this.signal.reason as Error), this.#graceMs))
      this.signal.addEventListener('abort', wait, { once: true })
    })
    givenUp.catch(() => undefined)
    try {
      await Promise.race([this.#inside(this, async () => work(this.signal)), givenUp])
      await this.end()
    } catch (error) {
      await this.fail(error)
    } finally {
      clearTimeout(patience)
    }
  }

  /** Ends the turn by its own word. A turn that was stopped ends as `interrupted`. */
  end(end: TurnEnd = { outcome: 'completed' }): Promise<void> {
    const reason = this.signal.aborted ? (this.signal.reason as Error).message : undefined
    const said: TurnEnd = reason === undefined ? end : { outcome: 'interrupted', reason }
    this.#end ??= this.#say(this, said).catch((error: unknown) => {
      if (!(error instanceof Stopped)) throw error // a session that is gone has no turns
    })
    return this.#end
  }

  fail(error: unknown): Promise<void> {
    return this.end({ outcome: 'failed', failure: failureOf(error) })
  }

  stop(reason: Stopped): void {
    this.#stop.abort(reason)
  }
}
