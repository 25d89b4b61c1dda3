// A session's log, and one turn of it, as async iterables: each event once and in order, whatever happens to the connection.

import { TurnloomError } from './error.js'
import { follow, type StreamOptions } from './follow.js'
import { newId } from './id.js'
import type { Requester } from './request.js'
import type { ServerEvent } from './sse.js'
import type { EventOf, EventType, Receipt, SendMessage, SessionEvent } from './types.js'

export interface StreamEventsOptions<T extends EventType = EventType> extends StreamOptions {
  /** The last position that is known already; 0, which is before the first, if absent. */
  after?: number | undefined
  /** Only events of these types. */
  types?: readonly T[] | undefined
}

export interface StreamTurnOptions extends StreamOptions {
  /** Told when the message is durable, also when it has to wait for another turn. */
  onAccepted?: ((receipt: Receipt) => void) | undefined
}

const SSE = 'text/event-stream'

export async function* streamEvents<T extends EventType>(
  requester: Requester,
  session: string,
  { after = 0, types, ...options }: StreamEventsOptions<T>,
): AsyncGenerator<EventOf<T>, void, undefined> {
  let position = after
  const open = (signal: AbortSignal) =>
    requester.open(`${session}/events`, { query: { after: position, types }, accept: SSE, signal })
  for await (const frames of follow(open, options)) {
    for (const event of facts(frames, position)) {
      position = event.seq
      yield event as EventOf<T>
      // What came along with it is not told to somebody who has had enough.
      options.signal?.throwIfAborted()
    }
  }
}

/** Sends a message and gives the events of its turn, until `done`. Throws when the turn will not come. */
export async function* streamTurn(
  requester: Requester,
  session: string,
  send: SendMessage,
  { onAccepted, ...options }: StreamTurnOptions,
): AsyncGenerator<SessionEvent, void, undefined> {
  // With an id, a message whose receipt was lost can be sent again: the daemon takes it once.
  const body = { ...send, message_id: send.message_id ?? newId() }
  let position = 0
  let turn: string | undefined
  let accepted = false
  const open = (signal: AbortSignal) =>
    position === 0
      ? requester.open(`${session}/turn`, { method: 'POST', body, accept: SSE, signal })
      : requester.open(`${session}/events`, { query: { after: position }, accept: SSE, signal })
  for await (const frames of follow(open, options)) {
    const receipt = frames.find((frame) => frame.event === 'accepted')
    if (receipt && !accepted) {
      accepted = true
      onAccepted?.(JSON.parse(receipt.data) as Receipt)
    }
    for (const event of facts(frames, position)) {
      position = event.seq
      turn ??= event.turn_id
      // The log, where a lost stream goes on, tells of other things too.
      if (event.turn_id !== turn) continue
      yield event
      options.signal?.throwIfAborted()
      if (event.type === 'done') return
    }
    const problem = frames.find((frame) => frame.event === 'problem')
    if (problem) refuse(JSON.parse(problem.data) as TurnloomError['problem'])
  }
}

/** Why a stream ended before its turn did. A daemon that stops is waited for, as if the connection had been lost. */
function refuse(problem: TurnloomError['problem']): void {
  const error = new TurnloomError(problem.status ?? 0, problem)
  if (!error.isTransient) throw error
}

const NO_FACTS = ['accepted', 'heartbeat', 'problem']

/** The frames that are events of the log, without those that are known. */
function facts(frames: ServerEvent[], position: number): SessionEvent[] {
  return frames
    .filter(({ event }) => !NO_FACTS.includes(event))
    .map(({ data }) => JSON.parse(data) as SessionEvent)
    .filter(({ seq }) => seq > position)
}
