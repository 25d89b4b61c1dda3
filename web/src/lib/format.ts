// Numbers and times as people read them.

const THIN = '\u202f'

export function number(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN)
}

export function tokens(value: number): string {
  if (value < 1_000) return String(value)
  return value < 100_000 ? `${(value / 1_000).toFixed(1)}${THIN}k` : `${Math.round(value / 1_000)}${THIN}k`
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value}${THIN}B`
  if (value < 1_048_576) return `${(value / 1_024).toFixed(value < 10_240 ? 1 : 0)}${THIN}KB`
  return `${(value / 1_048_576).toFixed(1)}${THIN}MB`
}

export function duration(ms: number): string {
  if (ms < 950) return `${Math.max(0, Math.round(ms / 10) * 10)}${THIN}ms`
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)}${THIN}s`
  return elapsed(ms)
}

/** Whole seconds: for something that is still going on. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds}${THIN}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60)
    return seconds % 60 && minutes < 10 ? `${minutes}${THIN}min ${seconds % 60}${THIN}s` : `${minutes}${THIN}min`
  const hours = Math.floor(minutes / 60)
  return minutes % 60 ? `${hours}${THIN}h ${minutes % 60}${THIN}min` : `${hours}${THIN}h`
}

/** How long something took; what took no time worth a word says nothing. */
export function between(from: string | undefined, to: string | undefined): string {
  const ms = from && to ? Date.parse(to) - Date.parse(from) : 0
  return ms >= 100 ? duration(ms) : ''
}

export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at)
  if (ms < 60_000) return 'now'
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}${THIN}min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}${THIN}h`
  return `${Math.floor(ms / 86_400_000)}${THIN}d`
}

/** The time of day. By hand: the first use of the browser's own formatting takes as long as two frames. */
export function clock(at: string): string {
  const time = new Date(at)
  return [time.getHours(), time.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
}

export function plural(count: number, one: string, many: string): string {
  return `${number(count)} ${count === 1 ? one : many}`
}

/** Deeper than this nobody reads a value, and the browser's own writer of JSON gives up at some depth. */
const DEEPEST_JSON = 40

/** A value as text; strings as they are. */
export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : json(value, 2)
}

/** A value as JSON, with a mark in place of what is too deep to be shown. */
export function json(value: unknown, indent = 0): string {
  return JSON.stringify(shallow(value, DEEPEST_JSON), null, indent) ?? ''
}

function shallow(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return Array.isArray(value) ? ['…'] : { '…': '…' }
  if (Array.isArray(value)) return value.map((item) => shallow(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shallow(item, levels - 1)]))
}
