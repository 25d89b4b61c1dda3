// What can be followed, and what carries it: a WebSocket in pages, or one stream that they share where that does not get through; server-sent events
// elsewhere. Not here: how a stream comes back.

import { TurnloomError, unreachable } from './error.js'
import type { Feed } from './feed.js'
import { ChangedLists } from './changedLists.js'
import type { Requester } from './request.js'
import { dialShared } from './shared.js'
import { Socket, dialWebSocket, type Address } from './socket.js'
import { feedOf } from './sse.js'

/** A stream, and what is asked of it: the same on both ways. */
export type StreamRequest =
  | { stream: 'events' | 'view' | 'turn'; session: string; fields: object }
  | { stream: 'sessions' | 'asks' | 'inbox' | 'tasks' | 'automation'; session?: undefined; fields: object }

/** The address of something that belongs to a session. */
export function pathOf(id: string, ...rest: string[]): string {
  return ['/api/sessions', ...[id, ...rest].map(encodeURIComponent)].join('/')
}

/** How often a way may fail, although the daemon is there and would take it, before the next one is tried. */
const ATTEMPTS = 2

export class Streams {
  readonly #requester: Requester
  #socket: Socket | undefined
  /** Ops go over a WebSocket, or are posted. */
  #way: 'websocket' | 'posted' = 'websocket'
  #failures = 0
  readonly #lists: ChangedLists | undefined

  constructor(requester: Requester) {
    this.#requester = requester
    const { streams, fetch, worker, listsFromTasks } = requester.options
    if (listsFromTasks) this.#lists = new ChangedLists()
    const isPage = typeof document !== 'undefined' && typeof WebSocket !== 'undefined' && !fetch
    if (!(streams ? streams === 'websocket' : isPage)) return
    this.#socket = new Socket({
      dial: worker ? dialShared(worker) : dialWebSocket,
      address: () => this.#address(),
      whyNot: () => this.#whyNot(),
    })
  }

  async open(request: StreamRequest, signal: AbortSignal): Promise<Feed> {
    if (!this.#socket) return this.#openEvents(request, signal)
    const feed = await this.#socket.subscribe(opOf(request), signal)
    this.#failures = 0
    return feed
  }

  async #openEvents({ stream, session, fields }: StreamRequest, signal: AbortSignal): Promise<Feed> {
    const accept = 'text/event-stream'
    if (stream === 'turn') {
      const body = { method: 'POST', body: fields, accept, signal }
      return feedOf(await this.#requester.open(pathOf(session, 'turn'), body), signal)
    }
    const paths = {
      events: () => pathOf(session ?? '', 'events'),
      view: () => `${pathOf(session ?? '')}/view/stream`,
      sessions: () => '/api/sessions',
      asks: () => '/api/asks',
      inbox: () => '/api/inbox',
      tasks: () => '/api/tasks/events',
      automation: () => '/api/automation',
    }
    const query = fields as Record<string, unknown>
    const lists = this.#lists
    if (lists && (stream === 'sessions' || stream === 'asks' || stream === 'inbox')) {
      const read = () =>
        this.#requester.json<unknown>(paths[stream](), { query: { ...query, after: undefined }, signal })
      return lists.open(stream === 'sessions' ? 'snapshot' : stream, read, signal)
    }
    const told = lists && stream === 'tasks' ? { ...query, lists: true } : query
    const feed = feedOf(await this.#requester.open(paths[stream](), { query: told, accept, signal }), signal)
    return lists && stream === 'tasks' ? lists.hear(feed) : feed
  }

  /** Pages cannot send headers with a WebSocket, so the token is one of the protocols it asks for. */
  async #address(): Promise<Address> {
    const base = typeof document === 'undefined' ? undefined : document.baseURI
    if (this.#way === 'posted') {
      const url = new URL(this.#requester.address('/api/channel'), base)
      return { url: url.href, protocols: [], headers: await this.#requester.headers() }
    }
    const url = new URL(this.#requester.address('/api/ws'), base)
    url.protocol = url.protocol.replace('http', 'ws')
    const { client } = this.#requester.options
    if (client !== undefined) url.searchParams.set('client', client)
    const token = await this.#requester.token()
    return { url: url.href, protocols: token === undefined ? [] : ['turnloom', `turnloom.token.${base64url(token)}`] }
  }

  /** An ordinary request to the same address is refused for the same reason, unless only WebSockets do not get through. */
  async #whyNot(): Promise<never> {
    try {
      await this.#requester.open('/api/ws')
    } catch (error) {
      if (!(error instanceof TurnloomError) || error.code !== 'upgrade_required') throw error
      this.#failures += 1
      if (this.#failures >= ATTEMPTS) this.#tryNext()
    }
    throw unreachable('a connection for streams could not be opened')
  }

  /** Posting is for pages that share a worker: else it takes as many connections as there are pages, and holds them while nobody looks. */
  #tryNext(): void {
    const isShared = this.#requester.options.worker !== undefined && typeof SharedWorker !== 'undefined'
    if (this.#way === 'websocket' && isShared) this.#way = 'posted'
    else this.#socket = undefined
    this.#failures = 0
  }
}

function opOf({ stream, session, fields }: StreamRequest): object {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  return { stream, ...(session !== undefined && { session_id: session }), ...Object.fromEntries(given) }
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text))
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
