// Where the page is, kept in the address after `#`: `#/` is the start, `#/s/ID` a session, `#/new` a new one, `#/asks` the inbox.

export type Route =
  { name: 'home' } | { name: 'session'; id: string } | { name: 'new' } | { name: 'asks' } | { name: 'sessions' }

function parse(hash: string): Route {
  const [, name, id] = hash.replace(/^#/, '').split('/')
  if (name === 's' && id) return { name: 'session', id: decoded(id) }
  if (name === 'new' || name === 'asks' || name === 'sessions') return { name }
  return { name: 'home' }
}

/** An address that somebody typed may be no encoding of anything: then it is taken as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

class Router {
  current = $state<Route>(parse(location.hash))

  constructor() {
    window.addEventListener('hashchange', () => (this.current = parse(location.hash)))
  }

  get session(): string | undefined {
    return this.current.name === 'session' ? this.current.id : undefined
  }

  go(hash: string): void {
    location.hash = hash
  }
}

export const sessionHash = (id: string) => `#/s/${encodeURIComponent(id)}`
export const router = new Router()
