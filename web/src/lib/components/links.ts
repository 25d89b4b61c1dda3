// Where a component may lead, and which pictures it may show. Nothing is ever loaded from elsewhere.

import { safeHref } from '../markdown'

export interface Link {
  href: string
  /** Where it really goes, whatever its words say. */
  host: string
}

/** An address that may be followed; nothing for everything else. */
export function linkOf(address: unknown): Link | undefined {
  const href = typeof address === 'string' ? safeHref(address) : undefined
  if (href === undefined) return undefined
  try {
    const url = new URL(href)
    return { href: url.href, host: url.protocol === 'mailto:' ? url.pathname : url.host }
  } catch {
    return undefined
  }
}

const INLINE = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml);base64,[A-Za-z0-9+/=\s]*$/
const BLOB = /^blob:([0-9a-f]{64})$/
/** Two MiB of picture, as base64. */
const LONGEST = (2 * 1_024 * 1_024 * 4) / 3 + 128

/** What an `<img>` may show: a picture in the properties themselves, or one that the daemon keeps. */
export function pictureOf(source: unknown, blobUrl: (id: string) => string): string | undefined {
  if (typeof source !== 'string') return undefined
  const blob = BLOB.exec(source)?.[1]
  if (blob !== undefined) return blobUrl(blob)
  return source.length <= LONGEST && INLINE.test(source) ? source : undefined
}
