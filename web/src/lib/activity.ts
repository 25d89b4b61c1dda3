// What a session is doing, in words that are true and specific.

import type { Session, View } from './types'

/** For the status line: one clause, without the time. */
export function activityWords(view: View, agent: string): string {
  const activity = view.activity
  const asks = view.asks.length
  if (asks > 0) return asks === 1 ? 'Waiting for your answer' : `Waiting for ${asks} answers`
  if (!activity) return `Starting ${agent}`
  const { state, label, attempt } = activity
  switch (state) {
    case 'accepted':
      return label ?? 'Accepted'
    case 'starting':
      return label ?? `Starting ${agent}`
    case 'thinking':
      return label ?? 'Thinking'
    case 'responding':
      return label ?? 'Writing'
    case 'tool':
      return label ?? 'Using a tool'
    case 'waiting':
      return label ?? 'Waiting for your answer'
    case 'retrying':
      return (label ?? 'Retrying') + (attempt ? `, attempt ${attempt}` : '')
    case 'compacting':
      return label ?? 'Compacting the conversation'
    case 'stopping':
      return label ?? 'Stopping'
    default:
      return label ?? state
  }
}

/** For the list: one word. */
export function statusWord(session: Session): string {
  const asks = session.asks ?? 0
  if (asks > 1) return `${asks} asks`
  if (session.status === 'waiting' || asks === 1) return 'asks you'
  if (session.status === 'running') return 'running'
  if (session.status === 'stopping') return 'stopping'
  if (session.status === 'failed') return 'failed'
  return ''
}

export function titleOf(session: { title?: string; session_id?: string } | undefined): string {
  return session?.title?.trim() || 'Untitled session'
}
