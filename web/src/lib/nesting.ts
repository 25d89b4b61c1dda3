// Sessions that work for other sessions stand below those in the list.

import type { Session } from 'turnloom'

export interface Row {
  session: Session
  /** How many sessions stand above it. */
  depth: number
}

/** Deeper rows are not moved further to the side. */
export const DEEPEST = 3

/** The sessions of a list as trees, in its order: each with those that work for it, as far as they are in the list. */
export function trees(sessions: Session[]): Row[][] {
  const ids = new Set(sessions.map((session) => session.session_id))
  const below = new Map<string, Session[]>()
  const roots: Session[] = []
  for (const session of sessions) {
    const parent = session.parent_session_id
    if (parent !== undefined && parent !== null && parent !== session.session_id && ids.has(parent))
      below.set(parent, [...(below.get(parent) ?? []), session])
    else roots.push(session)
  }
  const seen = new Set<string>()
  const rows = (session: Session, depth: number): Row[] => {
    if (seen.has(session.session_id)) return []
    seen.add(session.session_id)
    const children = below.get(session.session_id) ?? []
    return [{ session, depth: Math.min(depth, DEEPEST) }, ...children.flatMap((child) => rows(child, depth + 1))]
  }
  const found = roots.map((root) => rows(root, 0))
  // Should some stand below each other in a circle, they are shown all the same.
  return [
    ...found,
    ...sessions.filter((session) => !seen.has(session.session_id)).map((session) => rows(session, 0)),
  ].filter((tree) => tree.length > 0)
}
