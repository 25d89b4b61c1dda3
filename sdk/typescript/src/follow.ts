// Follows a stream of server-sent events over as many connections as it takes. Not here: what the events mean, and where to go on.

import { TurnloomError, notTurnloom, unreachable } from './error.js'
import { createParser, type ServerEvent } from './sse.js'
import { onWake } from './wake.js'

/** How a stream comes back after its connection was lost, in milliseconds. */
export interface Reconnect {
  /** Before the first new attempt; doubled with each that fails. */
  firstDelay?: number
  longestDelay?: number
  /** A connection that says nothing for so long is dead, whatever the socket says. The daemon says something every 15 s. */
  silence?: number
}

export type Connection =
  | { state: 'connecting' }
  | { state: 'live' }
  /** Tried again in `delay` ms. There is no `error` when the connection was ended in order. */
  | { state: 'waiting'; attempt: number; delay: number; error?: TurnloomError }

export interface StreamOptions {
  /** Ends the stream: the iteration is rejected with the signal's reason. Leaving the loop ends it too. */
  signal?: AbortSignal | undefined
  reconnect?: Reconnect | undefined
  /** Told of every change of the connection. */
  onConnection?: ((connection: Connection) => void) | undefined
}

const DEFAULTS: Required<Reconnect> = { firstDelay: 250, longestDelay: 15_000, silence: 38_000 }

/**
 * The events of a stream, as many at once as there are. `open` is called for each connection and says where it goes on.
 * Ends only by the signal, by leaving the loop, or with the error of a refusal that will not change.
 */
export async function* follow(
  open: (signal: AbortSignal) => Promise<Response>,
  { signal, reconnect, onConnection }: StreamOptions,
): AsyncGenerator<ServerEvent[], never, undefined> {
  const { firstDelay, longestDelay, silence } = { ...DEFAULTS, ...reconnect }
  let attempt = 0
  for (;;) {
    onConnection?.({ state: 'connecting' })
    let error: TurnloomError | undefined
    try {
      for await (const events of connection(open, silence, signal)) {
        if (events === OPENED) {
          onConnection?.({ state: 'live' })
          continue
        }
        // Only now: who is let in and thrown out again would otherwise come back without a pause.
        attempt = 0
        yield events
      }
    } catch (failure) {
      signal?.throwIfAborted()
      if (!(failure instanceof TurnloomError) || !failure.isTransient) throw failure
      error = failure
    }
    signal?.throwIfAborted()
    attempt += 1
    const longest = Math.min(longestDelay, firstDelay * 2 ** (attempt - 1))
    // Not all clients of a daemon that comes back shall come in the same moment.
    const delay = longest * (0.5 + Math.random() / 2)
    onConnection?.({ state: 'waiting', attempt, delay, ...(error && { error }) })
    await pause(delay, signal)
  }
}

const OPENED: ServerEvent[] = []

/** One connection, from opening, which it says first, to its end. */
async function* connection(
  open: (signal: AbortSignal) => Promise<Response>,
  silence: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerEvent[], void, undefined> {
  const ending = new AbortController()
  const abort = () => ending.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  /** Waits for the other side, but not for ever. */
  const inTime = async <T>(answer: Promise<T>): Promise<T> => {
    const watchdog = setTimeout(() => ending.abort(unreachable(`silent for ${silence} ms`)), silence)
    return answer.finally(() => clearTimeout(watchdog))
  }
  try {
    const response = await inTime(open(ending.signal))
    const reader = streamOf(response).getReader()
    // Also for a `fetch` that leaves the signal alone.
    ending.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    yield OPENED
    const decoder = new TextDecoder()
    const parse = createParser()
    for (;;) {
      const { done, value } = await inTime(reader.read()).catch((error: unknown) => {
        ending.signal.throwIfAborted()
        throw unreachable(error)
      })
      ending.signal.throwIfAborted()
      if (done) return
      const events = parse(decoder.decode(value, { stream: true }))
      if (events.length > 0) yield events
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    ending.abort()
  }
}

function streamOf(response: Response): ReadableStream<Uint8Array> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !response.body) throw notTurnloom(response)
  return response.body
}

/** Waits, unless there is a reason to try at once. */
function pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      unwake()
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason as Error)
      else resolve()
    }
    const timer = setTimeout(end, delay)
    const unwake = onWake(end)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}
