// The list of sessions, the agents and the inbox over all sessions. The daemon is asked again at short intervals while the page is seen,
// and at once when the open session changes its state.

import { api, asProblem, newId, type Problem } from './api'
import { router } from './route.svelte'
import { tabs } from './tabs.svelte'
import type { Agent, Ask, Session } from './types'

const BUSY_INTERVAL = 2_000
const QUIET_INTERVAL = 6_000
/** The newest sessions are asked for again and again; older ones come by page, when they are wanted. */
const NEWEST = 100
const PAGE = 100
const FOUND = 100
/** How long typing has to rest before the daemon is asked. */
const TYPING_MS = 150

export interface Group {
  name: 'Needs you' | 'Running' | 'Today' | 'Older' | 'Archived'
  sessions: Session[]
}

class Sessions {
  #newest = $state.raw<Session[]>([])
  #older = $state.raw<Session[]>([])
  /** Sessions in tabs that are further back than any page that was asked for. */
  #far = $state.raw<Session[]>([])
  /** What the daemon found for the search, and what for. */
  #found = $state.raw<{ words: string; sessions: Session[] }>({ words: '', sessions: [] })
  #cursor = $state<string>()
  agents = $state.raw<Agent[]>([])
  asks = $state.raw<Ask[]>([])
  search = $state('')
  archived = $state(false)
  loaded = $state(false)
  problem = $state.raw<Problem>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #typing: ReturnType<typeof setTimeout> | undefined
  #round = 0
  all = $derived(once([...this.#newest, ...this.#older]))

  /** Whether there are sessions beyond those in the list. */
  get hasMore(): boolean {
    return this.#cursor !== undefined && !this.search.trim()
  }

  byId(id: string | undefined): Session | undefined {
    const is = (session: Session) => session.session_id === id
    return this.all.find(is) ?? this.#far.find(is) ?? this.#found.sessions.find(is)
  }

  agent(id: string | undefined): Agent | undefined {
    return this.agents.find((agent) => agent.id === id)
  }

  /** The modes to choose from; where any word is one, those that every agent of ours understands. */
  modes(runtime: string | undefined): string[] {
    return this.agent(runtime)?.modes ?? ['plan', 'implement']
  }

  get groups(): Group[] {
    const wanted = this.search.trim().toLowerCase()
    const here = this.all.filter(
      (session) =>
        !wanted ||
        `${session.title} ${session.runtime} ${session.cwd ?? ''} ${session.session_id}`.toLowerCase().includes(wanted),
    )
    const seen = wanted && this.#found.words === wanted ? once([...here, ...this.#found.sessions]) : here
    if (this.archived) return [{ name: 'Archived', sessions: seen }]
    const today = new Date().setHours(0, 0, 0, 0)
    const nameOf = (session: Session): Group['name'] => {
      if (session.status === 'waiting' || (session.asks ?? 0) > 0) return 'Needs you'
      if (session.status === 'running' || session.status === 'stopping') return 'Running'
      return Date.parse(session.updated_at) >= today ? 'Today' : 'Older'
    }
    const names: Group['name'][] = ['Needs you', 'Running', 'Today', 'Older']
    return names
      .map((name) => ({ name, sessions: seen.filter((session) => nameOf(session) === name) }))
      .filter((group) => group.sessions.length > 0)
  }

  start(): void {
    void this.loadAgents()
    void this.#poll()
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.refresh())
  }

  /** Soon, and once for many reasons at the same time. */
  refresh(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#poll(), 60)
  }

  async loadAgents(): Promise<void> {
    try {
      this.agents = (await api.agents()).agents
    } catch {
      // The list of sessions says that the daemon is away.
    }
  }

  async #poll(): Promise<void> {
    const round = ++this.#round
    try {
      const [{ sessions, next_cursor }, { asks }] = await Promise.all([
        api.sessions({ limit: NEWEST, ...this.#which }),
        api.asks(),
      ])
      if (round !== this.#round) return
      if (JSON.stringify(sessions) !== JSON.stringify(this.#newest)) this.#newest = sessions
      if (this.#older.length === 0) this.#cursor = next_cursor
      void this.#lookFar()
      if (JSON.stringify(asks) !== JSON.stringify(this.asks)) this.asks = asks
      this.problem = undefined
      this.loaded = true
    } catch (error) {
      if (round === this.#round) this.problem = asProblem(error)
    }
    // Without a sign-in there is nothing to ask for.
    if (round !== this.#round || this.problem?.status === 401) return
    const busy = this.all.some((session) => session.status === 'running' || session.status === 'waiting')
    const hidden = document.visibilityState === 'hidden' ? 3 : 1
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#poll(), (busy ? BUSY_INTERVAL : QUIET_INTERVAL) * hidden)
  }

  get #which(): { archived?: 'true' } {
    return this.archived ? { archived: 'true' } : {}
  }

  /** Tabs may show sessions that the list does not hold. */
  async #lookFar(): Promise<void> {
    const known = new Set(this.all.map((session) => session.session_id))
    const far = tabs.all.filter((tab) => !known.has(tab.id))
    const found = await Promise.all(
      far.map(async ({ id }) => {
        try {
          return [await api.session(id)]
        } catch (error) {
          // One that was deleted elsewhere has no tab any more.
          if (asProblem(error).status === 404 && id !== router.session) tabs.close(id)
          return this.#far.filter((session) => session.session_id === id)
        }
      }),
    )
    if (JSON.stringify(found.flat()) !== JSON.stringify(this.#far)) this.#far = found.flat()
  }

  /** The next page of older sessions. */
  async more(): Promise<void> {
    const cursor = this.#cursor
    if (cursor === undefined) return
    try {
      const page = await api.sessions({ limit: PAGE, cursor, ...this.#which })
      if (cursor !== this.#cursor) return
      this.#older = [...this.#older, ...page.sessions]
      this.#cursor = page.next_cursor
      this.problem = undefined
    } catch (error) {
      this.problem = asProblem(error)
    }
  }

  /** Looks for sessions: at once among those that are here, and with the daemon among all. */
  find(words: string): void {
    this.search = words
    clearTimeout(this.#typing)
    const wanted = words.trim().toLowerCase()
    if (wanted) this.#typing = setTimeout(() => void this.#ask(wanted), TYPING_MS)
  }

  async #ask(words: string): Promise<void> {
    try {
      const { sessions } = await api.sessions({ q: words, limit: FOUND, ...this.#which })
      if (this.search.trim().toLowerCase() === words) this.#found = { words, sessions }
    } catch {
      // What is here is still searched, and the list says that the daemon is away.
    }
  }

  setArchived(archived: boolean): void {
    this.archived = archived
    this.#newest = []
    this.#older = []
    this.#cursor = undefined
    this.loaded = false
    this.find(this.search)
    this.refresh()
  }

  async create(runtime: string, params: Record<string, string>): Promise<Session> {
    const session = await api.create(newId(), runtime, params)
    this.#newest = [session, ...this.#newest]
    this.refresh()
    return session
  }

  /** Shows a change at once; the next answer of the daemon is the truth. */
  put(session: Session): void {
    this.#everywhere((other) => [other.session_id === session.session_id ? session : other])
    this.refresh()
  }

  /** Takes a session out of the list. */
  drop(id: string): void {
    this.#everywhere((other) => (other.session_id === id ? [] : [other]))
    this.refresh()
  }

  #everywhere(change: (session: Session) => Session[]): void {
    this.#newest = this.#newest.flatMap(change)
    this.#older = this.#older.flatMap(change)
    this.#far = this.#far.flatMap(change)
    this.#found = { ...this.#found, sessions: this.#found.sessions.flatMap(change) }
  }
}

/** Each session once: the first one of an id is the newest that is known. */
function once(sessions: Session[]): Session[] {
  const known = new Set<string>()
  return sessions.filter(({ session_id }) => !known.has(session_id) && known.add(session_id))
}

export const sessions = new Sessions()
