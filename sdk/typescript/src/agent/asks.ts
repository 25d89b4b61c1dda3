// What an agent waits for: each ask has a key, and one answer or none.

import { newId } from '../id.js'
import { isObject } from '../patch.js'
import { Stopped, Withdrawn } from './errors.js'
import type { Fields } from './messages.js'

/** The kinds of answers, as they stand in an `answer`. */
const KINDS = ['permission', 'question', 'interrupt', 'tool'] as const

export interface AskOptions {
  /** Your name for it, once per session; made for you if absent. */
  key?: string
  /** Takes the ask back. Stopping the turn does that by itself. */
  signal?: AbortSignal
}

interface Waiting {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export class Asks {
  readonly #waiting = new Map<string, Waiting>()
  readonly #say: (type: 'ask' | 'ask_withdrawn', data: Fields) => Promise<void>

  constructor(say: (type: 'ask' | 'ask_withdrawn', data: Fields) => Promise<void>) {
    this.#say = say
  }

  /** Asks, and gives the answer. Rejected with `Withdrawn` when there will be none. */
  async ask(request: Fields, turn: AbortSignal | undefined, { key = newId(), signal }: AskOptions): Promise<unknown> {
    signal?.throwIfAborted()
    if (this.#waiting.has(key)) throw new TypeError(`${key} is the key of an ask that waits`)
    const leave = (error: Error) => this.#waiting.get(key)?.reject(error)
    const stopped = () => leave(new Withdrawn((turn?.reason as Error).message, { cause: turn?.reason }))
    const aborted = () => {
      leave(signal?.reason as Error)
      // The turn may be over by now, and its asks with it.
      this.#say('ask_withdrawn', { key, reason: String(signal?.reason) }).catch(() => undefined)
    }
    const answer = new Promise((resolve, reject) => this.#waiting.set(key, { resolve, reject }))
    answer.catch(() => undefined) // it may be taken back before anybody waits
    turn?.addEventListener('abort', stopped)
    try {
      await this.#say('ask', { key, ...request })
      signal?.addEventListener('abort', aborted)
      if (signal?.aborted) aborted()
      return await answer
    } finally {
      this.#waiting.delete(key)
      turn?.removeEventListener('abort', stopped)
      signal?.removeEventListener('abort', aborted)
    }
  }

  /** Somebody has answered. An ask that does not wait any more is none of our business. */
  settle(key: string, fields: Fields): void {
    const kind = KINDS.find((kind) => isObject(fields[kind]))
    if (kind) this.#waiting.get(key)?.resolve(fields[kind])
  }

  withdrawAll(reason: Stopped): void {
    for (const { reject } of this.#waiting.values()) reject(new Withdrawn(reason.message, { cause: reason }))
  }
}
