// The list of sessions, the agents and the inbox over all sessions. The list and the inbox are followed, also while nobody looks: a session may need
// somebody.

import { newId, TurnloomError, type Agent, type Ask, type Connection, type Session, type StreamOptions } from 'turnloom'
import { needsYou } from './activity'
import { api } from './api'
import { RECONNECT } from './connection'
import { inbox } from './inbox.svelte'
import { Listing, once } from './listing.svelte'
import { trees, type Row } from './nesting'
import { problemOf, type Problem } from './problem'
import { router } from './route.svelte'
import { tabs } from './tabs.svelte'

/** The newest sessions are followed, and whatever becomes active; older ones come by page, when they are wanted. */
const NEWEST = 100
/** How often sessions in tabs are asked for that the list does not hold, while it changes. */
const FAR_MS = 2_000
const PAGE = 100
const FOUND = 100
/** How long typing has to rest before the daemon is asked. */
const TYPING_MS = 150

export interface Group {
  name: 'Needs you' | 'Running' | 'Today' | 'Older' | 'Archived'
  sessions: Session[]
  /** The same, with how far each stands to the side: those that work for another stand below it. */
  rows: Row[]
}

class Sessions {
  #active = new Listing()
  /** Followed only while it is shown. */
  #shelf = new Listing()
  /** Sessions in tabs that are further back than any page that was asked for. */
  #far = $state.raw<Session[]>([])
  /** What the daemon found for the search, and what for. */
  #found = $state.raw<{ words: string; sessions: Session[] }>({ words: '', sessions: [] })
  agents = $state.raw<Agent[]>([])
  search = $state('')
  archived = $state(false)
  problem = $state.raw<Problem>()
  /** Why the last page of older sessions did not come. */
  olderProblem = $state.raw<Problem>()
  #farTimer: ReturnType<typeof setTimeout> | undefined
  #typing: ReturnType<typeof setTimeout> | undefined
  #shown = $derived(this.archived ? this.#shelf : this.#active)
  /** The list that is shown. */
  all = $derived(this.#shown.all)

  get loaded(): boolean {
    return this.#shown.loaded
  }

  /** Whether there are sessions beyond those in the list. */
  get hasMore(): boolean {
    return this.#shown.cursor !== undefined && !this.search.trim()
  }

  /** What is asked in all sessions. */
  get asks(): Ask[] {
    return inbox.asks
  }

  /** How much needs a person. */
  get needs(): number {
    return inbox.needs
  }

  byId(id: string | undefined): Session | undefined {
    const is = (session: Session) => session.session_id === id
    const listed = this.#active.all.find(is) ?? this.#shelf.all.find(is)
    return listed ?? this.#far.find(is) ?? this.#found.sessions.find(is)
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
    const found = trees(seen)
    const group = (name: Group['name'], rows: Row[]): Group => ({
      name,
      rows,
      sessions: rows.map((row) => row.session),
    })
    if (this.archived) return [group('Archived', found.flat())]
    const today = new Date().setHours(0, 0, 0, 0)
    const nameOf = (session: Session): Group['name'] => {
      if (needsYou(session)) return 'Needs you'
      if (session.status === 'running' || session.status === 'stopping') return 'Running'
      return Date.parse(session.updated_at) >= today ? 'Today' : 'Older'
    }
    const names: Group['name'][] = ['Needs you', 'Running', 'Today', 'Older']
    // A tree stands where the most urgent of its sessions would stand.
    const placeOf = (tree: Row[]) => Math.min(...tree.map((row) => names.indexOf(nameOf(row.session))))
    return names
      .map((name, place) => group(name, found.filter((tree) => placeOf(tree) === place).flat()))
      .filter((group) => group.sessions.length > 0)
  }

  start(): void {
    void this.loadAgents()
    void this.#followInbox()
    this.#followList(this.#active)
  }

  /** Looks again at what is not followed: sessions in tabs that the list does not hold. */
  refresh(): void {
    this.#farTimer ??= setTimeout(() => {
      this.#farTimer = undefined
      void this.#lookFar()
    }, FAR_MS)
  }

  async loadAgents(): Promise<void> {
    try {
      this.agents = await api.listAgents()
    } catch {
      // The list of sessions says that the daemon is away.
    }
  }

  #followList(listing: Listing): void {
    const which = listing === this.#shelf ? { archived: true } : {}
    void this.#follow(listing.begin(), async (options) => {
      for await (const list of api.streamSessions({ ...which, limit: NEWEST, ...options })) {
        const isFirst = !listing.loaded
        listing.take(list.sessions, list.next_cursor ?? undefined)
        if (isFirst) void this.#lookFar()
        else this.refresh()
      }
    })
  }

  async #followInbox(): Promise<void> {
    await this.#follow(new AbortController().signal, async (options) => {
      for await (const listed of api.streamInbox(options)) inbox.take(listed)
    })
  }

  /** Follows something for ever, and says when the daemon does not answer. Without a sign-in there is nothing to follow. */
  async #follow(signal: AbortSignal, run: (options: StreamOptions) => Promise<void>): Promise<void> {
    const onConnection = (connection: Connection) => {
      if (connection.state === 'live') this.problem = undefined
      if (connection.state === 'waiting' && connection.error) this.problem = problemOf(connection.error)
    }
    try {
      await run({ signal, reconnect: RECONNECT, onConnection })
    } catch (error) {
      if (!signal.aborted) this.problem = problemOf(error)
    }
  }

  get #which(): { archived?: true } {
    return this.archived ? { archived: true } : {}
  }

  /** Tabs may show sessions that the list does not hold. */
  async #lookFar(): Promise<void> {
    const known = new Set([...this.#active.all, ...this.#shelf.all].map((session) => session.session_id))
    const far = tabs.all.filter((tab) => !known.has(tab.id))
    const found = await Promise.all(
      far.map(async ({ id }) => {
        try {
          return [await api.getSession(id)]
        } catch (error) {
          // One that was deleted elsewhere has no tab any more.
          if (error instanceof TurnloomError && error.status === 404 && id !== router.session) tabs.close(id)
          return this.#far.filter((session) => session.session_id === id)
        }
      }),
    )
    if (JSON.stringify(found.flat()) !== JSON.stringify(this.#far)) this.#far = found.flat()
  }

  /** The next page of older sessions. */
  async more(): Promise<void> {
    const listing = this.#shown
    const cursor = listing.cursor
    if (cursor === undefined) return
    try {
      const page = await api.listSessions({ limit: PAGE, cursor, ...this.#which })
      if (cursor !== listing.cursor) return
      listing.add(page.sessions, page.next_cursor ?? undefined)
      this.olderProblem = undefined
    } catch (error) {
      this.olderProblem = problemOf(error)
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
      const { sessions } = await api.listSessions({ q: words, limit: FOUND, ...this.#which })
      if (this.search.trim().toLowerCase() === words) this.#found = { words, sessions }
    } catch {
      // What is here is still searched, and the list says that the daemon is away.
    }
  }

  setArchived(archived: boolean): void {
    this.archived = archived
    this.olderProblem = undefined
    this.#shelf.end()
    if (archived) this.#followList(this.#shelf)
    this.find(this.search)
  }

  async create(runtime: string, params: Record<string, unknown>): Promise<Session> {
    const session = await api.createSession({ session_id: newId(), runtime, params })
    this.#active.put(session)
    return session
  }

  /** Shows a change at once; what the daemon tells next is the truth. */
  put(session: Session): void {
    this.#everywhere((other) => [other.session_id === session.session_id ? session : other])
  }

  /** Shows a session again that was taken out of the list. */
  bringBack(session: Session): void {
    this.#active.put(session)
  }

  /** Takes a session out of the list. */
  drop(id: string): void {
    this.#everywhere((other) => (other.session_id === id ? [] : [other]))
  }

  /** Asks for one session, where something is known of it that the list was not told. */
  async look(id: string): Promise<void> {
    try {
      this.put(await api.getSession(id))
    } catch {
      // The list says that the daemon is away.
    }
  }

  #everywhere(change: (session: Session) => Session[]): void {
    this.#active.change(change)
    this.#shelf.change(change)
    this.#far = this.#far.flatMap(change)
    this.#found = { ...this.#found, sessions: this.#found.sessions.flatMap(change) }
  }
}

export const sessions = new Sessions()
