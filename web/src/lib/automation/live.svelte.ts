// What a page of automation shows: read when it is opened and after each change, with what went wrong.

import { problemOf, type Problem } from '../problem'
import { looking, type Part } from './follow'

export class Live<T> {
  value = $state.raw<T>()
  problem = $state.raw<Problem>()
  readonly #load: (signal?: AbortSignal) => Promise<T>

  constructor(load: (signal?: AbortSignal) => Promise<T>) {
    this.#load = load
  }

  /** For `$effect`: reads it now and after each change, until the page is left. */
  follow(part: Part): () => void {
    return looking(part, (signal) => this.look(signal))
  }

  async look(signal?: AbortSignal): Promise<void> {
    try {
      const found = await this.#load(signal)
      if (signal?.aborted) return
      this.value = found
      this.problem = undefined
    } catch (error) {
      if (!signal?.aborted) this.problem = problemOf(error)
    }
  }
}
