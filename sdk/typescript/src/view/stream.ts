// A view that is kept up to date: a snapshot, and then the daemon's changes to it.

import { follow, type StreamOptions } from '../follow.js'
import type { Streams } from '../streams.js'
import { apply, reconcile } from './apply.js'
import { applied } from './copy.js'
import type { Op, View } from './types.js'

export interface StreamViewOptions extends StreamOptions {
  /** A view of an earlier stream, which is brought forward instead of asked for anew. */
  view?: View | undefined
  /** Makes what is changed in place out of the first snapshot, such as `reactive` in Vue, or a `$state` in Svelte. Not for copies. */
  hold?: ((snapshot: View) => View) | undefined
  /** How many of the newest messages a snapshot has. */
  messages?: number | undefined
  /** Gives a new object each time, in which what did not change is the same: for React and whoever else compares. */
  copies?: boolean | undefined
  /** Told of changes, before they are made. */
  onChanges?: ((changes: readonly Op[]) => void) | undefined
  /** Told every now and then that the connection lives, with the newest position in the log. */
  onHeartbeat?: ((head: number) => void) | undefined
}

/** Gives the view each time it has changed: always the same object, changed in place, unless copies are wanted. */
export async function* streamView(
  streams: Streams,
  session: string,
  { view: known, hold, messages, copies, onChanges, onHeartbeat, ...options }: StreamViewOptions,
): AsyncGenerator<View, void, undefined> {
  let view = known
  const open = (signal: AbortSignal) =>
    streams.open({ stream: 'view', session, fields: { after: view?.seq, messages } }, signal)
  for await (const frames of follow(open, { whileHidden: 'rest', ...options })) {
    let changed = false
    for (const { name, data } of frames) {
      if (name === 'snapshot') {
        const snapshot = data as View
        if (view && copies) view = structuredClone(view)
        if (view) reconcile(view, snapshot)
        else view = hold?.(snapshot) ?? snapshot
        changed = true
      } else if (name === 'ops' && view) {
        const { seq, ops } = data as { seq: number; ops: Op[] }
        // What is in the view already is never applied again: text is not doubled.
        if (seq <= view.seq) continue
        onChanges?.(ops)
        if (copies) view = { ...ops.reduce(applied, view), seq }
        else {
          for (const op of ops) apply(view, op)
          view.seq = seq
        }
        changed = true
      } else if (name === 'heartbeat') onHeartbeat?.((data as { head: number }).head)
    }
    if (view && changed) yield view
  }
}
