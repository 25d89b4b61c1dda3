// A value that changes often, as often as eyes can see: at most once a frame.

import { untrack } from 'svelte'

export function framed<T>(read: () => T): { readonly current: T } {
  let current = $state.raw(untrack(read))
  let first = true
  $effect.pre(() => {
    const next = read()
    if (first) {
      first = false
      return
    }
    const frame = requestAnimationFrame(() => (current = next))
    return () => cancelAnimationFrame(frame)
  })
  return {
    get current() {
      return current
    },
  }
}
