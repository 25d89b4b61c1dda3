// Addresses in the page, which stand after `#`: `#/` is the start, `#/s/ID` a session, `#/new` a new one, `#/asks` the inbox, `#/rules` the rules,
// `#/rules/try` what other rules would change. `#/schedules`, `#/channels`, `#/webhooks` and `#/spending` are about work that goes on by itself, with an id for
// one of them and `new` for a new one.

const AUTOMATION = ['schedules', 'channels', 'webhooks', 'spending'] as const
export type Automation = (typeof AUTOMATION)[number]

export type Route =
  | { name: 'home' | 'new' | 'asks' | 'sessions' | 'try' }
  | { name: 'session'; id: string; call?: string | undefined }
  | { name: 'automation'; page: Automation; id?: string | undefined }
  | { name: 'rules'; session?: string | undefined; rule?: string | undefined }

export function parse(hash: string): Route {
  const [path = '', query] = hash.replace(/^#/, '').split('?')
  const [, name, id] = path.split('/')
  const given = new URLSearchParams(query)
  const of = (key: string) => given.get(key) ?? undefined
  if (name === 's' && id) return { name: 'session', id: decoded(id), call: of('call') }
  if (name === 'rules') return id === 'try' ? { name: 'try' } : { name, session: of('session'), rule: of('rule') }
  const page = AUTOMATION.find((page) => page === name)
  if (page) return { name: 'automation', page, id: id ? decoded(id) : undefined }
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

const withQuery = (path: string, given: Record<string, string | undefined>) => {
  const known = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return known.length === 0 ? path : `${path}?${new URLSearchParams(known).toString()}`
}

/** A session, and in it the call that somebody wants to see. */
export const sessionHash = (id: string, call?: string) => withQuery(`#/s/${encodeURIComponent(id)}`, { call })
/** The rules of a session or in general, and one of them. */
export const rulesHash = (given: { session?: string | undefined; rule?: string | undefined } = {}) =>
  withQuery('#/rules', { session: given.session, rule: given.rule })
/** A page about work that goes on by itself, or one thing on it. */
export const automationHash = (page: Automation, id?: string) =>
  id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`
export const TRY_RULES = '#/rules/try'
