// The connection of a session as the page shows it. The SDK keeps it alive and brings it back; here is how patient the page is, and what it tells.

import { TurnloomError, type StreamOptions } from 'turnloom'
import { problemOf, type Problem } from './problem'

export type Connection =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'waiting'; until: number }
  | ({ state: 'refused'; code: string } & Problem)

/** A page that nobody looks at asks a daemon that is away twice a minute; one that is looked at again asks at once. */
export const RECONNECT = { firstDelay: 1_000, longestDelay: 30_000 }

/** Runs `follow` until `signal` is aborted, after which nothing is told, or until the daemon refuses for good. */
export async function connect(
  follow: (options: StreamOptions) => Promise<void>,
  onState: (connection: Connection) => void,
  signal: AbortSignal,
): Promise<void> {
  const onConnection: StreamOptions['onConnection'] = (connection) => {
    if (connection.state === 'waiting') onState({ state: 'waiting', until: Date.now() + connection.delay })
    // Nobody looks at a page that rests; who does sees it come back.
    else onState({ state: connection.state === 'resting' ? 'connecting' : connection.state })
  }
  try {
    await follow({ signal, reconnect: RECONNECT, onConnection })
  } catch (error) {
    if (signal.aborted) return
    const code = error instanceof TurnloomError ? error.code : 'unknown'
    onState({ state: 'refused', code, ...problemOf(error) })
  }
}
