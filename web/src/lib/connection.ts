// The connection of a session as the page shows it. The SDK keeps it alive and brings it back; here is how patient the page is, and what it tells.

import { TurnloomError } from 'turnloom/error'
import { follow } from 'turnloom/follow'
import type { ServerEvent } from 'turnloom/sse'

export type Connection =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'waiting'; until: number }
  | { state: 'refused'; status: number; code: string; detail: string }

/** A page that nobody looks at asks a daemon that is away twice a minute; one that is looked at again asks at once. */
const RECONNECT = { firstDelay: 1_000, longestDelay: 30_000 }

export interface Listener {
  onEvent: (event: ServerEvent) => void
  onState: (connection: Connection) => void
}

/** Runs until `signal` is aborted, after which nothing is told, or until the daemon refuses for good. */
export async function connect(
  open: (signal: AbortSignal) => Promise<Response>,
  { onEvent, onState }: Listener,
  signal: AbortSignal,
): Promise<void> {
  const stream = follow(open, {
    signal,
    reconnect: RECONNECT,
    onConnection: (connection) =>
      onState(connection.state === 'waiting' ? { state: 'waiting', until: Date.now() + connection.delay } : connection),
  })
  try {
    for await (const events of stream) events.forEach(onEvent)
  } catch (error) {
    if (signal.aborted) return
    const { status, code } = error instanceof TurnloomError ? error : { status: 0, code: 'unknown' }
    onState({ state: 'refused', status, code, detail: error instanceof Error ? error.message : String(error) })
  }
}
