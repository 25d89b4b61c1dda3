// Schedules, channels and webhooks, read again whenever the daemon says that they have changed. Nothing is asked for while nobody looks.

import type { AutomationVersions } from 'turnloom'
import { api } from '../api'
import { RECONNECT } from '../connection'

export type Part = keyof AutomationVersions

/** Looks at once, and again after each change. The stop ends it. */
export function looking(part: Part, look: (signal: AbortSignal) => Promise<void>): () => void {
  const stop = new AbortController()
  void run(part, look, stop.signal)
  return () => stop.abort()
}

async function run(part: Part, look: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  let seen: number | undefined
  try {
    for await (const versions of api.streamAutomation({ signal, reconnect: RECONNECT })) {
      if (versions[part] === seen) continue
      await untilSeen(signal)
      // What changes while it is read is told again after it.
      seen = versions[part]
      await look(signal)
    }
  } catch {
    // The stop, or a daemon that refuses: what is shown stays, and the list of sessions says that it is away.
    if (!signal.aborted) await look(signal)
  }
}

/** Resolves when somebody looks at the page. */
function untilSeen(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve()
  return new Promise((resolve, reject) => {
    const check = () => {
      if (document.visibilityState !== 'visible') return
      document.removeEventListener('visibilitychange', check)
      resolve()
    }
    document.addEventListener('visibilitychange', check)
    signal.addEventListener('abort', () => {
      document.removeEventListener('visibilitychange', check)
      reject(new DOMException('left', 'AbortError'))
    })
  })
}
