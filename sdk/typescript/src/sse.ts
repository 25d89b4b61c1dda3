// Reads server-sent events from a response body. Not here: when to connect.

import { notTurnloom, unreachable } from './error.js'
import type { Feed, StreamEvent } from './feed.js'

export interface ServerEvent {
  event: string
  id: string
  data: string
}

/** Takes pieces of a stream, cut anywhere, and gives the events that are complete. */
export function createParser(): (piece: string) => ServerEvent[] {
  let rest = ''
  let event = ''
  let id = ''
  let data: string[] = []
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    const complete: ServerEvent[] = []
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) complete.push({ event: event || 'message', id, data: data.join('\n') })
        event = ''
        data = []
        continue
      }
      const colon = line.indexOf(':')
      if (colon === 0) continue
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') event = value
      else if (field === 'data') data.push(value)
      else if (field === 'id') id = value
    }
    return complete
  }
}

/** A response that streams, as a feed. */
export function feedOf(response: Response, signal: AbortSignal): Feed {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !response.body) throw notTurnloom(response)
  const reader = response.body.getReader()
  // Also for a `fetch` that leaves the signal alone.
  signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
  const decoder = new TextDecoder()
  const parse = createParser()
  const read = ({ event, id, data }: ServerEvent): StreamEvent => {
    try {
      return { name: event, data: JSON.parse(data) as unknown, position: id === '' ? undefined : Number(id) }
    } catch {
      throw notTurnloom(response)
    }
  }
  return {
    async next() {
      const { done, value } = await reader.read().catch((error: unknown) => {
        signal.throwIfAborted()
        throw unreachable(error)
      })
      return done ? undefined : parse(decoder.decode(value, { stream: true })).map(read)
    },
  }
}
