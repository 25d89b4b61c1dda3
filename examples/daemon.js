// Where the daemon is, for the pages that a bundler makes. As they are, they ask the server they came from (see vite.config.js).
// With VITE_TURNLOOM_URL and VITE_TURNLOOM_TOKEN they ask the daemon itself; then their origin must be in its `origins`.

export const url = import.meta.env.VITE_TURNLOOM_URL ?? ''

export const token = import.meta.env.VITE_TURNLOOM_TOKEN
export const headers = token ? { authorization: `Bearer ${token}` } : {}

/** The session of this page. It stands in the address, so that a page that is loaded again shows the same one. */
location.hash ||= `example-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`
export const session = location.hash.slice(1)
