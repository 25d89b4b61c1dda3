// Keeps one connection alive: resumes after the last position, backs off, comes back at once when the network or the tab does.
// Not here: what the events mean. Clock, network and wake-up signals are taken as values, so that tests need none of them.

import { createParser, type ServerEvent } from 'turnloom/sse'

export type Connection =
  | { state: 'connecting' }
  | { state: 'live' }
  | { state: 'waiting'; until: number; attempt: number }
  | { state: 'refused'; status: number; code: string; detail: string }

export interface Wiring {
  open: (signal: AbortSignal) => Promise<Response>
  onEvent: (event: ServerEvent) => void
  onState: (connection: Connection) => void
  /** Calls back when there is reason to try at once; gives a function that ends it. */
  onWake: (wake: () => void) => () => void
  now: () => number
}

const FIRST_DELAY = 1_000
const LONGEST_DELAY = 30_000
/** Two heartbeats and a half: a connection that is silent for so long is dead, whatever the socket says. */
const SILENCE = 38_000

export function delayOf(attempt: number): number {
  return Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (attempt - 1))
}

/** Runs until `signal` is aborted or the daemon refuses for good. */
export async function connect(wiring: Wiring, signal: AbortSignal): Promise<void> {
  let attempt = 0
  while (!signal.aborted) {
    wiring.onState({ state: 'connecting' })
    const outcome = await once(wiring, signal, () => (attempt = 0))
    if (signal.aborted) return
    if (outcome) return wiring.onState(outcome)
    attempt += 1
    const delay = delayOf(attempt)
    wiring.onState({ state: 'waiting', until: wiring.now() + delay, attempt })
    await pause(delay, wiring, signal)
  }
}

/** One connection, from opening to its end. Gives a refusal when trying again would not help. */
async function once(wiring: Wiring, signal: AbortSignal, onLive: () => void): Promise<Connection | undefined> {
  const dead = new AbortController()
  const both = AbortSignal.any([signal, dead.signal])
  let watchdog = setTimeout(() => dead.abort(), SILENCE)
  try {
    const response = await wiring.open(both)
    if (!response.ok) {
      const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string }
      const detail = problem.detail ?? `The daemon answered ${response.status}.`
      const final = response.status >= 400 && response.status < 500 && response.status !== 429
      return final ? { state: 'refused', status: response.status, code: problem.code ?? '', detail } : undefined
    }
    if (!response.body) return undefined
    onLive()
    wiring.onState({ state: 'live' })
    const parse = createParser()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    both.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    for (;;) {
      const { done, value } = await reader.read()
      if (done || both.aborted) return undefined
      clearTimeout(watchdog)
      watchdog = setTimeout(() => dead.abort(), SILENCE)
      for (const event of parse(value)) wiring.onEvent(event)
    }
  } catch {
    // The network went away; the caller waits and tries again.
    return undefined
  } finally {
    clearTimeout(watchdog)
    dead.abort()
  }
}

function pause(delay: number, wiring: Wiring, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      unwake()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, delay)
    const unwake = wiring.onWake(end)
    signal.addEventListener('abort', end)
  })
}

/** The page's own reasons to try at once. */
export function onPageWake(wake: () => void): () => void {
  const visible = () => document.visibilityState === 'visible' && wake()
  document.addEventListener('visibilitychange', visible)
  window.addEventListener('online', wake)
  return () => {
    document.removeEventListener('visibilitychange', visible)
    window.removeEventListener('online', wake)
  }
}
