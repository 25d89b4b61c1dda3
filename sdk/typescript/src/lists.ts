// Lists that are kept up to date: the sessions, what waits for a person, the inbox, and whether schedules, channels and webhooks have changed.

import { follow, type StreamOptions } from './follow.js'
import type { Streams } from './streams.js'
import type { Ask, AutomationVersions, Inbox, Session, SessionList } from './types.js'

export interface StreamSessionsOptions extends StreamOptions {
  /** Only archived sessions, instead of only the others. */
  archived?: boolean | undefined
  runtime?: string | undefined
  /** How many there are at first. Those that become active later are added. */
  limit?: number | undefined
}

/** `next_cursor` leads to what was older when the list was first told. */
export async function* streamSessions(
  streams: Streams,
  { archived, runtime, limit, ...options }: StreamSessionsOptions,
): AsyncGenerator<SessionList, void, undefined> {
  let position: number | undefined
  let known = new Map<string, Session>()
  let next_cursor: string | null | undefined
  const open = (signal: AbortSignal) =>
    streams.open({ stream: 'sessions', fields: { archived, runtime, limit, after: position } }, signal)
  for await (const frames of follow(open, options)) {
    let changed = false
    for (const { name, data, position: at } of frames) {
      if (name === 'snapshot') {
        const list = data as SessionList
        known = new Map(list.sessions.map((session) => [session.session_id, session]))
        next_cursor = list.next_cursor
      } else if (name === 'changes') {
        const { sessions, removed } = data as { sessions: Session[]; removed: string[] }
        for (const session of sessions) known.set(session.session_id, session)
        for (const id of removed) known.delete(id)
      } else continue
      position = at
      changed = true
    }
    if (!changed) continue
    const sessions = [...known.values()].sort((a, b) =>
      a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0,
    )
    yield { sessions, ...(next_cursor && { next_cursor }) }
  }
}

export async function* streamAsks(streams: Streams, options: StreamOptions): AsyncGenerator<Ask[], void, undefined> {
  const open = (signal: AbortSignal) => streams.open({ stream: 'asks', fields: {} }, signal)
  for await (const frames of follow(open, options)) {
    const newest = frames.findLast(({ name }) => name === 'asks')
    if (newest) yield (newest.data as { asks: Ask[] }).asks
  }
}

export async function* streamAutomation(
  streams: Streams,
  options: StreamOptions,
): AsyncGenerator<AutomationVersions, void, undefined> {
  const open = (signal: AbortSignal) => streams.open({ stream: 'automation', fields: {} }, signal)
  for await (const frames of follow(open, options)) {
    const newest = frames.findLast(({ name }) => name === 'automation')
    if (newest) yield newest.data as AutomationVersions
  }
}

export async function* streamInbox(
  streams: Streams,
  { all, ...options }: StreamOptions & { all?: boolean | undefined },
): AsyncGenerator<Inbox, void, undefined> {
  const open = (signal: AbortSignal) => streams.open({ stream: 'inbox', fields: { all } }, signal)
  for await (const frames of follow(open, options)) {
    const newest = frames.findLast(({ name }) => name === 'inbox')
    if (newest) yield newest.data as Inbox
  }
}
