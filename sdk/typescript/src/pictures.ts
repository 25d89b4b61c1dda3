// Addresses of pictures that are shown for longer than an address works. Not here: React.

import type { Turnloom } from './client.js'

/** A new address is asked for when so much of the old one's time has passed. */
const RENEW_AFTER = 0.8
/** What could not be renewed is tried again after this. */
const RETRY_MS = 10_000

/** Tells an address for a picture, and a new one before it ends, until what is returned is called. A picture that is not there has none. */
export function followPictureUrl(turnloom: Turnloom, blobId: string, onUrl: (url: string) => void): () => void {
  const leave = new AbortController()
  const { signal } = leave
  let timer: ReturnType<typeof setTimeout> | undefined
  const ask = async (onFailure: () => void) => {
    try {
      const { url, expiresInMs } = await turnloom.getPictureLink(blobId, { signal })
      if (signal.aborted) return
      onUrl(url)
      later(expiresInMs * RENEW_AFTER)
    } catch {
      if (!signal.aborted) onFailure()
    }
  }
  const later = (ms: number) => void (timer = setTimeout(() => void ask(() => later(RETRY_MS)), ms))
  void ask(() => undefined)
  return () => {
    leave.abort()
    clearTimeout(timer)
  }
}
