// Arrow keys go from one thing to the next where several stand in a row: menus, groups, lists.

import { isField } from './focus.svelte'

const STEPS: Record<string, { axis: 'down' | 'across'; by: number }> = {
  ArrowDown: { axis: 'down', by: 1 },
  ArrowUp: { axis: 'down', by: -1 },
  ArrowRight: { axis: 'across', by: 1 },
  ArrowLeft: { axis: 'across', by: -1 },
}

/** For `{@attach}`: arrow keys move the focus among what `selector` finds inside, and round at the ends where `round` is set. */
export function arrowKeys(
  selector: string,
  { axis, round = false }: { axis: 'down' | 'across' | 'both'; round?: boolean },
): (element: HTMLElement) => () => void {
  return (element) => {
    const onkeydown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
      const all = [...element.querySelectorAll<HTMLElement>(selector)].filter((item) => item.offsetParent !== null)
      const here = event.target instanceof Element ? event.target.closest<HTMLElement>(selector) : null
      const to = target(event, all, here ? all.indexOf(here) : -1)
      if (!to) return
      event.preventDefault()
      to.focus()
    }
    const target = (event: KeyboardEvent, all: HTMLElement[], at: number): HTMLElement | undefined => {
      if (at < 0) return undefined
      // In a field these keys move the caret.
      const typing = event.target instanceof Element && isField(event.target)
      if (event.key === 'Home' && !typing) return all[0]
      if (event.key === 'End' && !typing) return all.at(-1)
      const step = STEPS[event.key]
      if (!step || (axis !== 'both' && axis !== step.axis) || (typing && step.axis === 'across')) return undefined
      return round ? all.at((at + step.by) % all.length) : all[at + step.by]
    }
    element.addEventListener('keydown', onkeydown)
    return () => element.removeEventListener('keydown', onkeydown)
  }
}
