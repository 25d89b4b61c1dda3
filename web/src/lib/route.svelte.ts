// Where the page is. What the addresses mean is in `address.ts`.

import { parse, type Route } from './address'

export { sessionHash } from './address'

class Router {
  #hash = location.hash
  current = $state<Route>(parse(this.#hash))

  constructor() {
    // The change that led here may be told after it was read. It is no other place, and nothing that is open there may close.
    window.addEventListener('hashchange', () => {
      if (location.hash === this.#hash) return
      this.#hash = location.hash
      this.current = parse(this.#hash)
    })
  }

  get session(): string | undefined {
    return this.current.name === 'session' ? this.current.id : undefined
  }

  /** The call that somebody wants to see in the session. */
  get call(): string | undefined {
    return this.current.name === 'session' ? this.current.call : undefined
  }

  go(hash: string): void {
    location.hash = hash
  }
}

export const router = new Router()
