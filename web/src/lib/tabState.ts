// What a tab says of its session.

import { statusWord } from './activity'
import { sessions } from './sessions.svelte'
import type { Tab } from './tabs.svelte'

/** Beside its name: that it asks, that it runs, or that something is new. */
export function stateOf(tab: Tab, here: boolean): { kind: string; word: string } {
  const session = sessions.byId(tab.id)
  if (!session) return { kind: '', word: '' }
  const word = statusWord(session)
  if ((session.asks ?? 0) > 0 || session.status === 'waiting') return { kind: 'waiting', word }
  if (session.status === 'running' || session.status === 'stopping') return { kind: 'running', word }
  if (session.status === 'failed') return { kind: 'failed', word }
  return !here && tab.seen > 0 && session.head > tab.seen ? { kind: 'new', word: 'new' } : { kind: '', word: '' }
}

export const titleOf = (tab: Tab) => (sessions.byId(tab.id)?.title ?? tab.title) || 'Untitled session'
