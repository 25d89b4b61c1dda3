// A channel to the daemon over requests, where WebSockets do not get through: what it says is one stream of server-sent events, and ops are posted to it,
// in order and as many at once as wait. It takes one of the few connections that a browser allows, so it is for pages that share it.

import type { Dial, Incoming } from './socket.js'
import { feedOf } from './sse.js'

export const dialPosted: Dial = ({ url, headers }, listener) => {
  const ending = new AbortController()
  const { signal } = ending
  let isOver = false
  let isPosting = false
  let waiting: object[] = []
  /** Where ops go, once the daemon has said so. */
  let ops: string | undefined

  const end = () => {
    if (isOver) return
    giveUp()
    listener.onClose()
  }
  const giveUp = () => {
    isOver = true
    ending.abort()
  }
  const take = (message: Incoming & { channel?: string }) => {
    if (message.op !== 'opened') return listener.onMessage(message)
    ops = `${url}/${message.channel ?? ''}`
    listener.onOpen()
  }
  const read = async () => {
    const response = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' }, signal })
    if (!response.ok) return
    const feed = feedOf(response, signal)
    for (let events = await feed.next(); events && !isOver; events = await feed.next())
      for (const { data } of events) take(data as Incoming)
  }
  const post = async () => {
    isPosting = true
    try {
      while (ops && waiting.length > 0 && !isOver) {
        const body = JSON.stringify(waiting)
        waiting = []
        const given = { ...headers, 'content-type': 'application/json' }
        const response = await fetch(ops, { method: 'POST', headers: given, body, signal })
        if (!response.ok) end()
      }
    } catch {
      end()
    }
    isPosting = false
  }
  void read()
    .catch(() => undefined)
    .finally(end)
  return {
    send: (op) => {
      waiting.push(op)
      if (!isPosting) void post()
    },
    close: end,
    giveUp,
  }
}
