// A list of sessions: the newest, which are followed, and older ones, which come by page.

import type { Session } from 'turnloom'

export class Listing {
  #newest = $state.raw<Session[]>([])
  #older = $state.raw<Session[]>([])
  #following: AbortController | undefined
  all = $derived(once([...this.#newest, ...this.#older]))
  /** Where the next page begins, if there is one. */
  cursor = $state<string>()
  loaded = $state(false)

  /** Begins anew; the signal ends when it does so again. */
  begin(): AbortSignal {
    this.end()
    this.#following = new AbortController()
    return this.#following.signal
  }

  end(): void {
    this.#following?.abort()
    this.#newest = []
    this.#older = []
    this.cursor = undefined
    this.loaded = false
  }

  /** Takes what is newest now. */
  take(sessions: Session[], cursor: string | undefined): void {
    this.#newest = sessions
    if (this.#older.length === 0) this.cursor = cursor
    this.loaded = true
  }

  /** Adds a page of older ones. */
  add(sessions: Session[], cursor: string | undefined): void {
    this.#older = [...this.#older, ...sessions]
    this.cursor = cursor
  }

  put(session: Session): void {
    this.#newest = [session, ...this.#newest]
  }

  change(each: (session: Session) => Session[]): void {
    this.#newest = this.#newest.flatMap(each)
    this.#older = this.#older.flatMap(each)
  }
}

/** Each session once: the first one of an id is the newest that is known. */
export function once(sessions: Session[]): Session[] {
  const known = new Set<string>()
  return sessions.filter(({ session_id }) => !known.has(session_id) && known.add(session_id))
}
