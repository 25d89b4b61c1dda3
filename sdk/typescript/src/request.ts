// One request: its address, its headers, and what becomes of an answer that is none. Not here: which routes there are.

import { notTurnloom, refusal, unreachable } from './error.js'

export interface ClientOptions {
  /** Where the daemon is. An empty text is where the page came from. */
  url?: string
  /** The daemon's token, or what gives it at each request. A page that the daemon itself signed in needs none. */
  token?: string | (() => string | Promise<string>)
  /** Who asks: the log uses this name in `by`. */
  client?: string
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch
}

export interface CallOptions {
  /** Ends the call; it is then rejected with the signal's reason. */
  signal?: AbortSignal | undefined
}

export interface Request extends CallOptions {
  method?: string
  query?: Record<string, unknown>
  body?: unknown
  accept?: string
}

const DEFAULT_URL = 'http://127.0.0.1:7171'

export class Requester {
  readonly #url: string
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#url = (options.url ?? DEFAULT_URL).replace(/\/+$/, '')
    this.#options = options
  }

  /** A response that grants what was asked for. */
  async open(path: string, { method = 'GET', query, body, accept, signal }: Request = {}): Promise<Response> {
    signal?.throwIfAborted()
    const headers: Record<string, string> = { accept: accept ?? 'application/json' }
    const { token, client } = this.#options
    const secret = typeof token === 'function' ? await token() : token
    if (secret !== undefined) headers['authorization'] = `Bearer ${secret}`
    if (client !== undefined) headers['turnloom-client'] = client
    if (body !== undefined) headers['content-type'] = 'application/json'
    const ask = this.#options.fetch ?? fetch
    const init = { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null }
    const response = await ask(this.#url + path + queryText(query), init).catch((error: unknown) => {
      signal?.throwIfAborted()
      throw unreachable(error)
    })
    if (!response.ok) throw await refusal(response)
    return response
  }

  /** The JSON that a request is answered with; nothing when the answer is empty. */
  async json<T>(path: string, request?: Request): Promise<T> {
    const response = await this.open(path, request)
    const text = await response.text().catch((error: unknown) => {
      request?.signal?.throwIfAborted()
      throw unreachable(error)
    })
    if (text === '') return undefined as T
    try {
      return JSON.parse(text) as T
    } catch {
      throw notTurnloom(response)
    }
  }
}

function queryText(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  if (given.length === 0) return ''
  return '?' + new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
}
