// The inbox over all sessions, as the daemon tells it. What is seen on this page is said to the daemon, so that no other device tells of it. Not here:
// how it is followed, which the list of sessions does.

import type { Ask, Inbox as Listed, InboxItem } from 'turnloom'
import { api } from './api'

const EMPTY: Listed = { items: [], snoozed: [], needs: 0, unread: 0 }

class Inbox {
  #listed = $state.raw<Listed>(EMPTY)
  loaded = $state(false)
  /** What was said to be seen, so that it is said once. */
  #seen = new Set<string>()
  needs = $derived(this.#listed.needs)
  /** Those that wait for a person, the weightiest first. */
  waiting = $derived(this.#listed.items.filter((item) => item.needs_you))
  failed = $derived(this.#listed.items.filter((item) => item.kind === 'failed'))
  finished = $derived(this.#listed.items.filter((item) => item.kind === 'finished'))
  snoozed = $derived(this.#listed.snoozed)
  /** Every ask that is open, the oldest first. */
  asks = $derived(
    [...this.#listed.items, ...this.#listed.snoozed]
      .flatMap(({ session_id, session_title, ask }): Ask[] => (ask ? [{ session_id, session_title, ...ask }] : []))
      .sort((a, b) => (a.asked_at < b.asked_at ? -1 : a.asked_at > b.asked_at ? 1 : a.seq - b.seq)),
  )

  get all(): InboxItem[] {
    return this.#listed.items
  }

  take(listed: Listed): void {
    this.#listed = listed
    this.loaded = true
  }

  /** Somebody looks at a session, as far as its log is shown. */
  see(session: string, seq: number): void {
    const news = this.#listed.items.filter(
      (item) => item.session_id === session && !item.read && item.seq <= seq && !this.#seen.has(item.item_id),
    )
    if (news.length === 0) return
    for (const { item_id } of news) this.#seen.add(item_id)
    api.readInbox({ session_id: session, seq }).catch(() => {
      // The next look says it again.
      for (const { item_id } of news) this.#seen.delete(item_id)
    })
  }

  /** Its mark was taken back, so it may be seen again. */
  forget(id: string): void {
    this.#seen.delete(id)
  }
}

export const inbox = new Inbox()

/** Whether somebody looks at this page now. */
export const isLookedAt = () => document.visibilityState === 'visible' && document.hasFocus()
