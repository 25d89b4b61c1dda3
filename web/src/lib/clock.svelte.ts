// The time, to the second, for everything that shows how long something takes. One timer for the page.

import { createSubscriber } from 'svelte/reactivity'

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, 1_000)
  return () => clearInterval(timer)
})

/** Now; whoever reads it in the page is brought up to date each second. */
export function now(): number {
  subscribe()
  return Date.now()
}
