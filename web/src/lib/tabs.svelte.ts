// The sessions that are open side by side, remembered by this browser. Only the one that is seen has a connection; a tab itself is a name and a
// position. Not here: what is in a session.

import { load, store } from './storage'

/** More than these are not told apart any more; the one that was left longest ago makes room. */
const MOST = 12

export interface Tab {
  id: string
  title: string
  /** How far the log was when the session was last on the screen. */
  seen: number
}

class Tabs {
  all = $state.raw<Tab[]>(load<Tab[]>('tabs', []))
  /** Ids, the one that was visited last at the end. */
  #visits: string[] = this.all.map((tab) => tab.id)

  visit(id: string): void {
    this.#visits = [...this.#visits.filter((other) => other !== id), id]
    if (this.all.some((tab) => tab.id === id)) return
    const from = this.all.findIndex((tab) => tab.id === this.#visits.at(-2))
    const next = this.all.toSpliced(from < 0 ? this.all.length : from + 1, 0, { id, title: '', seen: 0 })
    const oldest = next.length > MOST ? this.#visits.shift() : undefined
    this.#put(next.filter((tab) => tab.id !== oldest))
  }

  /** Notes what the screen shows of a session. */
  note(id: string, title: string, seen: number): void {
    const known = this.all.find((tab) => tab.id === id)
    if (!known || (known.title === title && known.seen >= seen)) return
    this.#put(this.all.map((tab) => (tab.id === id ? { id, title, seen: Math.max(seen, tab.seen) } : tab)))
  }

  /** Closes a tab; gives the one to show instead. */
  close(id: string): string | undefined {
    const at = this.all.findIndex((tab) => tab.id === id)
    if (at < 0) return undefined
    this.#visits = this.#visits.filter((other) => other !== id)
    this.#put(this.all.toSpliced(at, 1))
    return this.#visits.at(-1) ?? this.all[Math.min(at, this.all.length - 1)]?.id
  }

  /** The tab so many places away, round and round. */
  beside(id: string | undefined, by: number): string | undefined {
    const at = this.all.findIndex((tab) => tab.id === id)
    return this.all.at((at + by + this.all.length) % Math.max(1, this.all.length))?.id
  }

  #put(tabs: Tab[]): void {
    this.all = tabs
    store('tabs', tabs)
  }
}

export const tabs = new Tabs()
