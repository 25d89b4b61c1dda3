// Tells a person who looks elsewhere that a session needs them: the title, the icon, and a notification where it was wished for. Which items are told, and
// when, is the daemon's decision; a browser that it reaches by itself needs no page for that (`notices.ts`).

import type { InboxItem } from 'turnloom'
import { load, store } from './storage'

const BASE = '/favicon.svg'

function icon(): HTMLLinkElement | null {
  return document.querySelector('link[rel="icon"]')
}

function badge(count: number): string {
  const text = count > 9 ? '9+' : String(count)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4451c9"/><text x="16" y="23.5" font-family="system-ui,sans-serif" font-size="${text.length > 1 ? 17 : 21}" font-weight="700" fill="#fff" text-anchor="middle">${text}</text></svg>`
  return 'data:image/svg+xml,' + encodeURIComponent(svg)
}

export function showTitle(title: string | undefined, count: number): void {
  document.title = `${count > 0 ? `(${count}) ` : ''}${title ? `${title} · ` : ''}Turnloom`
  const link = icon()
  const href = count > 0 ? badge(count) : BASE
  if (link && link.getAttribute('href') !== href) link.setAttribute('href', href)
}

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
export function notify(items: InboxItem[], go: (item: InboxItem) => void): void {
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
  for (const item of news) show(item, () => go(item))
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
