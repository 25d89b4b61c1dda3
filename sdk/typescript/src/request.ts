// One request: its address, its headers, and what becomes of an answer that is none. Not here: which routes there are.

import { foreignOrigin, notTurnloom, refusal, unreachable, type TurnloomError } from './error.js'

export interface ClientOptions {
  /** Where the daemon is. An empty text is where the page came from. */
  url?: string
  /** The daemon's token, or what gives it at each request. A page that the daemon itself signed in needs none. */
  token?: string | (() => string | Promise<string>)
  /** Who asks: the log uses this name in `by`. */
  client?: string
  /** Used instead of the global `fetch`; streams are then server-sent events. */
  fetch?: typeof fetch
  /**
   * How streams come. A page uses one WebSocket for all of them, because a browser allows few connections; everybody else has server-sent events.
   * Where WebSockets do not get through, pages that share a `worker` share one stream of server-sent events instead, and others have one for each stream.
   */
  streams?: 'websocket' | 'sse'
  /**
   * Where streams are server-sent events, the lists of sessions and asks are read again whenever the stream of tasks says that they have changed, as
   * long as that is followed, instead of followed themselves: each would hold one of the few connections that a browser allows.
   */
  listsFromTasks?: boolean
  /** Starts a worker that runs `turnloom/worker`: then all pages of a browser share one connection, where there are such workers. */
  worker?: () => SharedWorker
  /** Told whenever the daemon answers 401, to a call or to a stream: the token is wrong, or this browser is not signed in any more. */
  onUnauthorized?: (error: TurnloomError) => void
}

export interface CallOptions {
  /** Ends the call; it is then rejected with the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface Request extends CallOptions {
  method?: string
  query?: Record<string, unknown>
  body?: unknown
  /** A body that is not JSON. */
  file?: Blob | string
  accept?: string
  /** Only these bytes of the answer. */
  range?: ByteRange | undefined
}

/** Bytes of something large: from `start` to before `end`. */
export interface ByteRange {
  start: number
  end: number
}

const DEFAULT_URL = 'http://127.0.0.1:7171'

export class Requester {
  readonly #url: string
  readonly options: ClientOptions

  constructor(options: ClientOptions) {
    this.#url = (options.url ?? DEFAULT_URL).replace(/\/+$/, '')
    this.options = options
  }

  address(path: string, query?: Request['query']): string {
    return this.#url + path + queryText(query)
  }

  async token(): Promise<string | undefined> {
    const { token } = this.options
    return typeof token === 'function' ? token() : token
  }

  /** What every request says: who asks, and that it may. */
  async headers(): Promise<Record<string, string>> {
    const { client } = this.options
    const secret = await this.token()
    return {
      // A page that is signed in proves that it is one of the daemon's own, where the browser does not say so itself.
      ...(secret === undefined ? { 'turnloom-page': '1' } : { authorization: `Bearer ${secret}` }),
      ...(client !== undefined && { 'turnloom-client': client }),
    }
  }

  /** A response that grants what was asked for. */
  async open(path: string, request: Request = {}): Promise<Response> {
    const { method = 'GET', query, body, file, accept, range, signal } = request
    signal?.throwIfAborted()
    const headers: Record<string, string> = { ...(await this.headers()), accept: accept ?? 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (range !== undefined) headers['range'] = `bytes=${range.start}-${range.end - 1}`
    const ask = this.options.fetch ?? fetch
    const content = file ?? (body === undefined ? null : JSON.stringify(body))
    const init = { method, headers, body: content, signal: signal ?? null }
    const response = await ask(this.address(path, query), init).catch(async (error: unknown) => {
      signal?.throwIfAborted()
      throw (await this.#refusedOrigin()) ?? unreachable(error)
    })
    if (response.ok) return response
    const error = await refusal(response)
    if (error.status === 401) this.options.onUnauthorized?.(error)
    throw error
  }

  /** The JSON that a request is answered with; nothing when the answer is empty. */
  async json<T>(path: string, request?: Request): Promise<T> {
    const response = await this.open(path, request)
    const text = await arrived(response.text(), request)
    if (text === '') return undefined as T
    try {
      return JSON.parse(text) as T
    } catch {
      throw notTurnloom(response)
    }
  }

  /** The bytes that a request is answered with, whatever they are unless `accept` says so. */
  async blob(path: string, request?: Request): Promise<Blob> {
    const response = await this.open(path, { accept: '*/*', ...request })
    return arrived(response.blob(), request)
  }

  /**
   * A browser does not let a page read why it was refused: it is told of a network that failed. But whether anybody is there can be found out.
   */
  async #refusedOrigin(): Promise<TurnloomError | undefined> {
    const page = typeof document === 'undefined' ? undefined : globalThis.location
    if (!page || this.options.fetch || new URL(this.address('/'), page.href).origin === page.origin) return undefined
    const isThere = await fetch(this.address('/health'), { mode: 'no-cors' }).then(
      () => true,
      () => false,
    )
    return isThere ? foreignOrigin(page.origin) : undefined
  }
}

/** An answer that has begun may still get lost on its way. */
function arrived<T>(body: Promise<T>, request: Request | undefined): Promise<T> {
  return body.catch((error: unknown) => {
    request?.signal?.throwIfAborted()
    throw unreachable(error)
  })
}

function queryText(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  if (given.length === 0) return ''
  return '?' + new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
}
