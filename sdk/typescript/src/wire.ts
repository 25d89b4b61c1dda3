// What a session and its agent write to each other, while it is written.

import { TurnloomError, unreachable } from './error.js'
import type { Requester } from './request.js'
import { pathOf } from './streams.js'

/** One line. `in` is what the session wrote, `out` what the agent said. */
export interface WireLine {
  dir: 'in' | 'out'
  /** Milliseconds since the beginning. */
  at_ms: number
  /** What was JSON is JSON, what was not is a text. */
  line: unknown
  /** It was longer than a line may be: how long. */
  cut_bytes?: number
}

export interface StreamWireOptions {
  /** Ends by itself when a turn has ended and nothing waits. */
  until?: 'idle' | undefined
  signal?: AbortSignal | undefined
}

/** Does not come back when the connection is lost: what was missed meanwhile is written down nowhere. */
export async function* streamWire(
  requester: Requester,
  session: string,
  { until, signal }: StreamWireOptions,
): AsyncGenerator<WireLine, void, undefined> {
  const query = { until }
  const response = await requester.open(pathOf(session, 'wire'), { query, accept: 'application/x-ndjson', signal })
  const reader = response.body?.getReader()
  if (!reader) return
  try {
    const decoder = new TextDecoder()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        signal?.throwIfAborted()
        throw unreachable(error)
      })
      if (done) return
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const text of lines) {
        const line = JSON.parse(text) as WireLine | { error: TurnloomError['problem'] }
        if ('error' in line) throw new TurnloomError(0, line.error)
        yield line
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
