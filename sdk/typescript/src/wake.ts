// The reasons of a page to try again at once: its network is back, or somebody looks at it again. Outside of a page there are none.

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
