// The turns of all sessions in one stream: what runs, how far it is, how it ended.

import { follow, type StreamOptions } from './follow.js'
import type { Streams } from './streams.js'

export type TaskType = 'chat' | 'scheduled' | 'delegation' | 'channel'
export type TaskStatus = 'running' | 'succeeded' | 'failed' | 'cancelled'
/** Whether a person began the turn in a view that they look at. The daemon decides. */
export type TaskPresence = 'foreground' | 'background'

/** What a turn does now. */
export interface TaskActivity {
  state: string
  label?: string
  since: string
}

/** Where the work comes from. */
export interface TaskMetadata {
  scheduledRunId?: string
  isDelegation?: boolean
  /** The session that gave the work away. */
  parentSessionId?: string
  channelType?: string
  channel?: string
  deliveryId?: string
  sender?: string
  /** The turn that was interrupted for its budget and goes on with this one. */
  continues?: string
}

/** What changes of a turn while it runs. */
interface Going {
  activity?: TaskActivity
  toolName?: string
  /** How many asks wait for a person. */
  needsInput: number
  waitsFor?: 'plan' | 'permission' | 'question' | 'input'
  /** How many messages wait for their turn. */
  queued: number
  /** How many sub-agents run. */
  subagents: number
  /** How full the agent's context is, in tokens. */
  context?: { used: number; window: number }
  /** Nothing was heard of it for too long. The daemon decides; a turn that waits for a person is not one. */
  isZombie: boolean
}

/** A turn as a list of work shows it. */
export interface Task extends Going {
  runId: string
  sessionId: string
  type: TaskType
  status: TaskStatus
  origin: string
  triggerType: string
  presence: TaskPresence
  metadata: TaskMetadata
  /** The first line of what the turn is about. */
  prompt?: string
  /** Absent when the turn began before anybody counted. */
  startedAt?: string
  lastActivityAt: string
  completedAt?: string
  durationMs?: number
  error?: string
}

/** A turn with the title of its session. */
export interface ListedTask extends Task {
  title: string
  runtime: string
}

export type ListTasks = {
  status?: TaskStatus
  type?: TaskType
  presence?: TaskPresence
  origin?: string
  session_id?: string
  /** Only turns of sessions that this one gave work to. */
  parent_session_id?: string
  limit?: number
  /** The `next_cursor` of the page before. */
  cursor?: string
}

export interface TaskList {
  tasks: ListedTask[]
  next_cursor?: string
  /** Sessions that were active long ago were not looked at; name one. */
  incomplete?: boolean
}

export interface TaskProgress extends Going {
  runId: string
  sessionId: string
  type: TaskType
  /** The end of what the agent said last. */
  progressText: string
  /** There was more. */
  progressContentLimited: boolean
  startedAt?: string
  timestamp: string
}

export type TaskEvent =
  /** Comes first. Unless `resumed`, each task that runs is told as started after it. */
  | { type: 'connected'; data: { position: number; resumed: boolean } }
  | { type: 'task:started' | 'task:completed'; data: { task: Task; timestamp: string } }
  | { type: 'task:progress'; data: TaskProgress }

type Told = TaskEvent | { type: 'heartbeat' | 'sessions:changed' }

export async function* streamTasks(
  streams: Streams,
  options: StreamOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  let after: number | undefined
  const open = (signal: AbortSignal) => streams.open({ stream: 'tasks', fields: { after } }, signal)
  for await (const frames of follow(open, options)) {
    for (const { data, position } of frames) {
      after = position ?? after
      const event = data as Told
      if (!('data' in event)) continue
      yield event
      options.signal?.throwIfAborted()
    }
  }
}
