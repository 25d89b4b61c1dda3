// A view that is kept up to date: a snapshot, and then the daemon's changes to it.

import { follow, type StreamOptions } from '../follow.js'
import type { Requester } from '../request.js'
import { apply, reconcile, type Op } from './apply.js'
import type { View } from './types.js'

export interface StreamViewOptions extends StreamOptions {
  /** How many of the newest messages a snapshot has. */
  messages?: number | undefined
}

/** Gives the view each time it has changed: always the same object, changed in place. */
export async function* streamView(
  requester: Requester,
  session: string,
  { messages, ...options }: StreamViewOptions,
): AsyncGenerator<View, void, undefined> {
  let view: View | undefined
  const open = (signal: AbortSignal) => {
    const query = { after: view?.seq, messages }
    return requester.open(`${session}/view/stream`, { query, accept: 'text/event-stream', signal })
  }
  for await (const frames of follow(open, options)) {
    let changed = false
    for (const { event, data } of frames) {
      if (event === 'snapshot') {
        const snapshot = JSON.parse(data) as View
        if (view) reconcile(view, snapshot)
        else view = snapshot
        changed = true
      } else if (event === 'ops' && view) {
        const { seq, ops } = JSON.parse(data) as { seq: number; ops: Op[] }
        // What is in the view already is never applied again: text is not doubled.
        if (seq <= view.seq) continue
        for (const op of ops) apply(view, op)
        view.seq = seq
        changed = true
      }
    }
    if (view && changed) yield view
  }
}
