// The turns of all sessions in one stream: what runs, how far it is, how it ended.

import { follow, type StreamOptions } from './follow.js'
import type { Streams } from './streams.js'

/** A turn as a list of work shows it. */
export interface Task {
  runId: string
  sessionId: string
  type: string
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  origin: string
  triggerType: string
  /** Absent when the turn began before anybody counted. */
  startedAt?: string
  lastActivityAt: string
  completedAt?: string
  durationMs?: number
  error?: string
  /** How many asks wait for a person. */
  needsInput: number
  /** How many messages wait for their turn. */
  queued: number
  toolName?: string
}

export interface TaskProgress {
  runId: string
  sessionId: string
  type: string
  /** The end of what the agent said last. */
  text: string
  /** There was more. */
  limited: boolean
  toolName?: string
  needsInput: number
  queued: number
  startedAt?: string
  timestamp: string
}

export type TaskEvent =
  /** Comes first. Unless `resumed`, each task that runs is told as started after it. */
  | { type: 'connected'; data: { position: number; resumed: boolean } }
  | { type: 'task:started' | 'task:completed'; data: { task: Task; timestamp: string } }
  | { type: 'task:progress'; data: TaskProgress }

export async function* streamTasks(
  streams: Streams,
  options: StreamOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  let after: number | undefined
  const open = (signal: AbortSignal) => streams.open({ stream: 'tasks', fields: { after } }, signal)
  for await (const frames of follow(open, options)) {
    for (const { data, position } of frames) {
      after = position ?? after
      const event = data as TaskEvent | { type: 'heartbeat' }
      if (event.type === 'heartbeat' || !event.type) continue
      yield event
      options.signal?.throwIfAborted()
    }
  }
}
