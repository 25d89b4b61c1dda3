// The time for everything that shows how long something takes: to the second, or to the minute. One timer each for the page, and none that nobody needs.

import { createSubscriber } from 'svelte/reactivity'

const every = (ms: number) =>
  createSubscriber((update) => {
    const timer = setInterval(update, ms)
    return () => clearInterval(timer)
  })

const seconds = every(1_000)
const minutes = every(30_000)

/** Now; whoever reads it in the page is brought up to date each second. */
export function now(): number {
  seconds()
  return Date.now()
}

/** Now, for what changes by the minute: a list of sessions is not drawn again each second. */
export function nowByMinute(): number {
  minutes()
  return Date.now()
}
