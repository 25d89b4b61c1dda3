// Notifications of a page that is open, for a browser that the daemon does not reach by itself. Which items are told, and when, is the daemon's decision.

import type { InboxItem } from 'turnloom'
import { load, store } from '../storage'

const WORDS: Record<InboxItem['kind'], string> = {
  ask: 'needs you',
  budget: 'has reached its budget',
  lost_ask: 'could not wait for you',
  held: 'waits to go on',
  failed: 'failed',
  finished: 'is done',
}

/** What notifications are open, by the item they are about. */
const open = new Map<string, Notification>()

/** Brings the notifications of this page to where the inbox is. Each is shown once by all pages of a browser, and only to somebody who does not see them. */
export function notify(items: InboxItem[], go: (session: string) => void): void {
  const due = items.filter((item) => item.notifies)
  for (const [id, notification] of open) {
    if (due.some((item) => item.item_id === id)) continue
    open.delete(id)
    notification.close()
  }
  const told = new Set(load<string[]>('told', []))
  const news = due.filter((item) => !told.has(item.item_id))
  const kept = [...told].filter((id) => due.some((item) => item.item_id === id))
  if (news.length === 0 && kept.length === told.size) return
  store('told', [...kept, ...news.map((item) => item.item_id)])
  if (document.visibilityState === 'visible' || !('Notification' in window) || Notification.permission !== 'granted')
    return
  for (const item of news) show(item, () => go(item.session_id))
}

function show(item: InboxItem, go: () => void): void {
  const title = `${item.session_title || 'A session'} ${WORDS[item.kind]}`
  let notification: Notification
  try {
    notification = new Notification(title, { body: item.title, tag: item.item_id })
  } catch {
    // Some phones let only a service worker show one; the daemon reaches it there.
    return
  }
  open.set(item.item_id, notification)
  notification.onclick = () => {
    window.focus()
    go()
    notification.close()
  }
}
