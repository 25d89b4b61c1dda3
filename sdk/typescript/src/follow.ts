// Follows a stream over as many connections as it takes. Not here: what carries it, what the events mean, and where to go on.

import { TurnloomError, unreachable } from './error.js'
import type { Open, StreamEvent } from './feed.js'
import { onHidden, onWake, untilVisible } from './wake.js'

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
  /** Nobody looks at the page; it goes on when somebody does. */
  | { state: 'resting' }

export interface StreamOptions {
  /** Ends the stream: the iteration is rejected with the signal's reason. Leaving the loop ends it too. */
  signal?: AbortSignal | undefined
  reconnect?: Reconnect | undefined
  /**
   * What a page does that nobody has looked at for half a minute: `rest` gives its connection back until somebody does.
   * A number says after how many milliseconds. Views rest if nothing is said, other streams go on.
   */
  whileHidden?: 'follow' | 'rest' | number | undefined
  /** Told of every change of the connection. */
  onConnection?: ((connection: Connection) => void) | undefined
}

/** Looking away for a moment costs nothing. */
const REST_AFTER = 30_000

const DEFAULTS: Required<Reconnect> = { firstDelay: 250, longestDelay: 15_000, silence: 38_000 }

/**
 * The events of a stream, as many at once as there are. `open` is called for each connection and says where it goes on.
 * Ends only by the signal, by leaving the loop, or with the error of a refusal that will not change.
 */
export async function* follow(
  open: Open,
  { signal, reconnect, whileHidden, onConnection }: StreamOptions,
): AsyncGenerator<StreamEvent[], never, undefined> {
  const { firstDelay, longestDelay, silence } = { ...DEFAULTS, ...reconnect }
  const restAfter = whileHidden === 'rest' ? REST_AFTER : typeof whileHidden === 'number' ? whileHidden : Infinity
  let attempt = 0
  for (;;) {
    onConnection?.({ state: 'connecting' })
    let error: TurnloomError | undefined
    try {
      for await (const events of connection(open, silence, restAfter, signal)) {
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
      if (failure === RESTING) {
        onConnection?.({ state: 'resting' })
        await untilVisible(signal)
        continue
      }
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

const OPENED: StreamEvent[] = []
const RESTING = new Error('nobody looks at this page')

/** One connection, from opening, which it says first, to its end. */
async function* connection(
  open: Open,
  silence: number,
  restAfter: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const ending = new AbortController()
  const abort = () => ending.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  const unwatch = onHidden(restAfter, () => ending.abort(RESTING))
  /** Waits for the other side, but not for ever. */
  const inTime = async <T>(answer: Promise<T>): Promise<T> => {
    const watchdog = setTimeout(() => ending.abort(unreachable(`silent for ${silence} ms`)), silence)
    return answer.finally(() => clearTimeout(watchdog))
  }
  try {
    const feed = await inTime(open(ending.signal))
    yield OPENED
    for (;;) {
      const events = await inTime(feed.next())
      ending.signal.throwIfAborted()
      if (!events) return
      if (events.length > 0) yield events
    }
  } catch (error) {
    // What made it end counts, not how the end showed.
    ending.signal.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
    unwatch()
    ending.abort()
  }
}

/** Waits, unless there is a reason to try at once. */
export function pause(delay: number, signal: AbortSignal | undefined): Promise<void> {
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
