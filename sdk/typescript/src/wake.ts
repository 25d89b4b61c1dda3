// Whether somebody looks at a page, and the reasons of one to try again at once: its network is back, or somebody looks again. Outside of a page there
// are none, and it counts as looked at.

export function onWake(wake: () => void): () => void {
  if (typeof document === 'undefined') return () => undefined
  const visible = () => {
    if (document.visibilityState === 'visible') wake()
  }
  document.addEventListener('visibilitychange', visible)
  globalThis.addEventListener('online', wake)
  return () => {
    document.removeEventListener('visibilitychange', visible)
    globalThis.removeEventListener('online', wake)
  }
}

/** Calls back when the page was hidden for so long. */
export function onHidden(after: number, tell: () => void): () => void {
  if (typeof document === 'undefined' || after === Infinity) return () => undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(tell, after)
  }
  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

/** Resolves when somebody looks; rejected with the signal's reason. */
export function untilVisible(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal?.aborted) return
      document.removeEventListener('visibilitychange', look)
      signal?.removeEventListener('abort', look)
      if (signal?.aborted) reject(signal.reason as Error)
      else resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal?.addEventListener('abort', look)
    look()
  })
}
