// Which of many rows of one height are in the document: those that are seen, and some on each side.

/** Fewer rows than this are all in the document: the browser's own search and selection work then. */
export const FEW = 100
/** Rows beyond each edge, so that a quick movement finds them there. */
const AROUND = 12

export interface Span {
  from: number
  to: number
  /** Room for what is not there. */
  above: number
  below: number
}

export function spanOf(count: number, height: number, top: number, room: number): Span {
  if (count <= FEW) return { from: 0, to: count, above: 0, below: 0 }
  const first = Math.floor(Math.max(0, top) / height)
  const from = Math.max(0, Math.min(first, count - 1) - AROUND)
  const to = Math.min(count, first + Math.ceil(room / height) + AROUND)
  return { from, to, above: from * height, below: Math.max(0, count - to) * height }
}
