// Where the keys of a person go: so that the page names only keys that work from there, and so that the focus is never left in nothing.

import { tick } from 'svelte'

/** What takes Enter and Space for itself. */
const CONTROL = 'button, a[href], summary, [role="option"], [role="tab"]'
const FIELD = 'input, textarea, select, [contenteditable="true"]'

class Focus {
  /** The element that had the focus last, also when it has left the page. */
  last: Element | undefined
  #current = $state.raw<Element | null>(null)

  constructor() {
    const look = () => (this.#current = document.activeElement)
    window.addEventListener('focusin', ({ target }) => {
      if (target instanceof Element) this.last = target
      look()
    })
    // Where it went is known only afterwards.
    window.addEventListener('focusout', () => queueMicrotask(look))
    for (const moment of ['pointerup', 'keyup'] as const) window.addEventListener(moment, look)
  }

  /** Whether keys go to the page itself, not into a field or to a control. */
  get isFree(): boolean {
    return isFree(this.#current)
  }

  /** Whether Escape would stop the turn, if nothing is open. */
  get stops(): boolean {
    return stopsFrom(this.#current)
  }
}

export const isFree = (element: Element | null) => !element?.closest(`${CONTROL}, ${FIELD}`)
export const isField = (element: Element | null) => element?.closest(FIELD) != null

/** Stopping a turn needs the focus where the turn is: in the conversation, or in the composer. */
export const stopsFrom = (element: Element | null) =>
  element?.id === 'composer' || (element?.closest('[role="log"]') != null && !isField(element))

export const focus = new Focus()

/** Where the conversation can be read and answered by key. */
export const conversationElement = () => document.querySelector<HTMLElement>('[role="log"]')

/** Where one goes on when something is done: where one writes, unless a touch keyboard would cover the page. */
export function writingPlace(): HTMLElement | null {
  const touch = window.matchMedia('(hover: none)').matches
  return touch ? conversationElement() : document.getElementById('composer')
}

/** The tab of the panel that is open. */
export const panelTab = () => document.querySelector<HTMLElement>('aside [role="tab"][aria-selected="true"]')

/**
 * For `{@attach}`: when the element leaves the page and had the focus inside, the focus goes `home`, or else to where it was before.
 */
export function holdsFocus(home?: () => HTMLElement | null | undefined): (element: Element) => () => void {
  return (element) => {
    const before = document.activeElement
    return () =>
      void tick().then(() => {
        const lost = document.activeElement === null || document.activeElement === document.body
        if (!lost || !focus.last || !element.contains(focus.last)) return
        const next = home?.() ?? before
        if (next instanceof HTMLElement && next.isConnected) next.focus({ preventScroll: true })
      })
  }
}
