// The list of sessions, the agents and the inbox over all sessions. The daemon is asked again at short intervals while the page is seen,
// and at once when the open session changes its state.

import { api, asProblem, newId, type Problem } from './api'
import type { Agent, Ask, Session } from './types'

const BUSY_INTERVAL = 2_000
const QUIET_INTERVAL = 6_000

export interface Group {
  name: 'Needs you' | 'Running' | 'Today' | 'Older' | 'Archived'
  sessions: Session[]
}

class Sessions {
  all = $state.raw<Session[]>([])
  agents = $state.raw<Agent[]>([])
  asks = $state.raw<Ask[]>([])
  search = $state('')
  archived = $state(false)
  loaded = $state(false)
  problem = $state.raw<Problem>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #round = 0

  byId(id: string | undefined): Session | undefined {
    return this.all.find((session) => session.session_id === id)
  }

  agent(id: string | undefined): Agent | undefined {
    return this.agents.find((agent) => agent.id === id)
  }

  get groups(): Group[] {
    const wanted = this.search.trim().toLowerCase()
    const seen = this.all.filter(
      (session) =>
        !wanted ||
        `${session.title} ${session.runtime} ${session.cwd ?? ''} ${session.session_id}`.toLowerCase().includes(wanted),
    )
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
      const [{ sessions }, { asks }] = await Promise.all([
        api.sessions({ limit: 200, ...(this.archived ? { archived: 'true' as const } : {}) }),
        api.asks(),
      ])
      if (round !== this.#round) return
      if (JSON.stringify(sessions) !== JSON.stringify(this.all)) this.all = sessions
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

  setArchived(archived: boolean): void {
    this.archived = archived
    this.all = []
    this.loaded = false
    this.refresh()
  }

  async create(runtime: string, params: Record<string, string>): Promise<Session> {
    const session = await api.create(newId(), runtime, params)
    this.all = [session, ...this.all]
    this.refresh()
    return session
  }

  /** Shows a change at once; the next answer of the daemon is the truth. */
  put(session: Session): void {
    this.all = this.all.map((other) => (other.session_id === session.session_id ? session : other))
    this.refresh()
  }

  drop(id: string): void {
    this.all = this.all.filter((other) => other.session_id !== id)
    this.refresh()
  }
}

export const sessions = new Sessions()
