// A session's log, and one turn of it, as async iterables: each event once and in order, whatever happens to the connection.

import { TurnloomError } from './error.js'
import { follow, type StreamOptions } from './follow.js'
import { newId } from './id.js'
import type { StreamEvent } from './feed.js'
import type { Streams } from './streams.js'
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

export async function* streamEvents<T extends EventType>(
  streams: Streams,
  session: string,
  { after = 0, types, ...options }: StreamEventsOptions<T>,
): AsyncGenerator<EventOf<T>, void, undefined> {
  let position = after
  const open = (signal: AbortSignal) =>
    streams.open({ stream: 'events', session, fields: { after: position, types: types?.join(',') } }, signal)
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
  streams: Streams,
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
      ? streams.open({ stream: 'turn', session, fields: body }, signal)
      : streams.open({ stream: 'events', session, fields: { after: position } }, signal)
  for await (const frames of follow(open, options)) {
    const receipt = frames.find((frame) => frame.name === 'accepted')
    if (receipt && !accepted) {
      accepted = true
      onAccepted?.(receipt.data as Receipt)
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
    const problem = frames.find((frame) => frame.name === 'problem')
    if (problem) refuse(problem.data as TurnloomError['problem'])
  }
}

/** Why a stream ended before its turn did. A daemon that stops is waited for, as if the connection had been lost. */
function refuse(problem: TurnloomError['problem']): void {
  const error = new TurnloomError(problem.status ?? 0, problem)
  if (!error.isTransient) throw error
}

const CONTROL_FRAMES = ['accepted', 'heartbeat', 'problem']

/** The frames that are events of the log, without those that are known. */
function facts(frames: StreamEvent[], position: number): SessionEvent[] {
  return frames
    .filter(({ name }) => !CONTROL_FRAMES.includes(name))
    .map(({ data }) => data as SessionEvent)
    .filter(({ seq }) => seq > position)
}
