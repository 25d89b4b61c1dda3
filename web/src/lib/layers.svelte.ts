// What is open above the page, in the order it was opened: menus, dialogs, fields that were opened for a moment. Escape closes the last of it and
// nothing else.

import { untrack } from 'svelte'

type Close = () => void

class Layers {
  #open = $state.raw<Close[]>([])

  get any(): boolean {
    return this.#open.length > 0
  }

  /** For `{@attach}`: as long as the element is there, Escape closes it. */
  closes(close: Close): () => () => void {
    return () => {
      // Each has an identity of its own, also when two are closed by the same function.
      const layer = () => close()
      untrack(() => (this.#open = [...this.#open, layer]))
      return () => untrack(() => (this.#open = this.#open.filter((other) => other !== layer)))
    }
  }

  /** Says whether there was anything to close. */
  closeTopmost(): boolean {
    const top = this.#open.at(-1)
    top?.()
    return top !== undefined
  }
}

export const layers = new Layers()
