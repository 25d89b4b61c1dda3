// Going from session to session, and away from one that is gone.

import { router, sessionHash } from './route.svelte'
import { tabs } from './tabs.svelte'

export { router, sessionHash }

export function closeTab(id: string): void {
  const next = tabs.close(id)
  if (router.session === id) router.go(next === undefined ? '#/' : sessionHash(next))
}

/** Shows the tab so many places away. */
export function stepTab(by: number): void {
  const next = tabs.beside(router.session, by)
  if (next !== undefined) router.go(sessionHash(next))
}

export function showTab(number: number): void {
  const tab = tabs.all[number]
  if (tab) router.go(sessionHash(tab.id))
}
