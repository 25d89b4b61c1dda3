// The components that the daemon knows, as a session may show them: asked for when the first one is seen, and again for a name that was not there.
// Folders of components are read again without anybody telling the page, so it asks now and then while components are shown.

import type { ComponentEntry } from 'turnloom'
import { api } from '../api'

const EVERY_MS = 10_000

interface Known {
  version: string
  entries: Map<string, ComponentEntry>
  /** Names that were asked for and are not there. */
  missing: Set<string>
}

class Registry {
  #sessions = $state.raw<Record<string, Known>>({})
  #asking = new Map<string, Promise<void>>()
  #watched = new Map<string, { count: number; end: () => void }>()

  /** Whether it is known what the daemon says of this name; also when it says nothing, or does not answer. */
  isSettled(session: string, name: string): boolean {
    const known = this.#sessions[session]
    return known !== undefined && (known.entries.has(name) || known.missing.has(name))
  }

  entry(session: string, name: string): ComponentEntry | undefined {
    return this.#sessions[session]?.entries.get(name)
  }

  /** Makes sure that a name is settled. */
  async ask(session: string, name: string): Promise<void> {
    while (this.#asking.has(session)) await this.#asking.get(session)
    if (this.isSettled(session, name)) return
    const asking = this.#fetch(session, name)
    this.#asking.set(session, asking)
    await asking
    this.#asking.delete(session)
  }

  /** Asks again as long as a component of this session is shown. Gives a function that ends it. */
  watch(session: string): () => void {
    const watching = this.#watched.get(session) ?? { count: 0, end: this.#look(session) }
    watching.count += 1
    this.#watched.set(session, watching)
    return () => {
      watching.count -= 1
      if (watching.count > 0) return
      watching.end()
      this.#watched.delete(session)
    }
  }

  #look(session: string): () => void {
    const ended = new AbortController()
    const look = () => {
      if (document.visibilityState === 'visible' && this.#sessions[session]) void this.#fetch(session)
    }
    const timer = setInterval(look, EVERY_MS)
    window.addEventListener('focus', look, { signal: ended.signal })
    return () => {
      ended.abort()
      clearInterval(timer)
    }
  }

  async #fetch(session: string, name?: string): Promise<void> {
    const before = this.#sessions[session]
    let { entries, version } = before ?? { entries: new Map<string, ComponentEntry>(), version: '' }
    try {
      const { components, version: now } = await api.listComponents({ session })
      if (name === undefined && now === version) return
      if (now !== version) entries = new Map(components.map((entry) => [entry.name, entry]))
      version = now
    } catch {
      // Without it, what the page knows is drawn and nothing is checked.
      if (name === undefined) return
    }
    const missing = new Set([...(before?.missing ?? []), ...(name === undefined ? [] : [name])])
    for (const known of entries.keys()) missing.delete(known)
    this.#sessions = { ...this.#sessions, [session]: { entries, version, missing } }
  }
}

export const registry = new Registry()
