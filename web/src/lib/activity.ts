// What a session is doing, in words that are true and specific.

import type { Activity, Session, View } from 'turnloom'
import { duration } from './format'

/** For the status line: one clause, without the time. */
export function activityWords(view: View, agent: string): string {
  const activity = view.activity
  const asks = view.asks.length
  if (asks > 0) return asks === 1 ? 'Waiting for your answer' : `Waiting for ${asks} answers`
  if (!activity) return `Starting ${agent}`
  const { state, label } = activity
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
      return retryWords(activity)
    case 'compacting':
      return label ?? 'Compacting the conversation'
    case 'stopping':
      return label ?? 'Stopping'
    default:
      return label ?? state
  }
}

/** Why, which attempt of how many, and when: each once, whichever of them the agent tells. */
function retryWords({ label, attempt, detail }: Activity): string {
  const told = (detail ?? {}) as Record<string, unknown>
  const number = (name: string) => (typeof told[name] === 'number' ? told[name] : undefined)
  const limit = number('max_retries')
  const delay = number('retry_delay_ms')
  const words = (label ?? 'Retrying').replace(/,? attempt \d+/, '')
  // Some say it as 2/5.
  const isTold = attempt === undefined || words.includes(`${attempt}/`)
  const count = isTold ? '' : `, attempt ${attempt}${limit === undefined ? '' : ` of ${limit}`}`
  return `${words}${count}${delay ? `, in ${duration(delay)}` : ''}`
}

/** For the list: one word. */
export function statusWord(session: Session): string {
  const asks = session.asks ?? 0
  if (asks > 1) return `${asks} asks`
  if (session.status === 'waiting' || asks === 1) return 'asks you'
  if (session.lost_ask) return 'not answered'
  if (session.status === 'running') return 'running'
  if (session.status === 'stopping') return 'stopping'
  if ((session.held ?? 0) > 0) return `${session.held} held`
  if (session.status === 'failed' || session.status === 'damaged') return session.status
  return ''
}

/** Whether it waits for a person: to answer, to go on after an ask that was lost, or to let go what is held. */
export function needsYou(session: Session): boolean {
  if (session.archived) return false
  const open = session.status === 'waiting' || (session.asks ?? 0) > 0
  const idle = session.status === 'idle' || session.status === 'failed'
  return open || session.lost_ask !== undefined || (idle && (session.held ?? 0) > 0)
}

/** What can be done with a session besides reading it; nothing, where what is stored of it cannot be read. */
export function abilities(session: Session | undefined): Session['capabilities'] | undefined {
  return session?.status === 'damaged' ? undefined : session?.capabilities
}

export function titleOf(session: { title?: string; session_id?: string } | undefined): string {
  return session?.title?.trim() || 'Untitled session'
}
