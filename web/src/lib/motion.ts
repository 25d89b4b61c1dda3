// How things open and close: quickly, and not at all for those who asked for less motion.

import { cubicOut } from 'svelte/easing'

const reduced = window.matchMedia('(prefers-reduced-motion: reduce)')

export function motion(): { duration: number; easing: (t: number) => number } {
  return { duration: reduced.matches ? 0 : 140, easing: cubicOut }
}
