// Where the page is. What the addresses mean is in `address.ts`.

import { parse, type Route } from './address'

export { sessionHash } from './address'

class Router {
  current = $state<Route>(parse(location.hash))

  constructor() {
    window.addEventListener('hashchange', () => (this.current = parse(location.hash)))
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
