// Reads server-sent events from a response body. Not here: when to connect.

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
