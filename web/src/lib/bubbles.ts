// What a session's bubble says while its turn runs, and for a moment after it. Time is given, not asked for. Not here: which turns there are.

import type { Task } from 'turnloom'
import { elapsed } from './format'

/** A bubble comes, is there, says how it ended, and is gone. */
export type Phase = 'entering' | 'live' | 'settling'
export type Tone = 'neutral' | 'warning' | 'critical' | 'success'

export interface Bubble {
  runId: string
  phase: Phase
  /** When this phase is over by itself. */
  until?: number
  label: string
  tone: Tone
}

export const ENTERING_MS = 160
export const SETTLING_MS = 2_500
/** More does not fit beside a name. */
const LONGEST = 64

const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)

const WAITS = {
  plan: 'Plan ready',
  permission: 'Asks for permission',
  question: 'Asks a question',
  input: 'Waits for input',
} as const

const STATES: Record<string, string> = {
  accepted: 'Accepted',
  starting: 'Starting',
  thinking: 'Thinking',
  responding: 'Writing',
  tool: 'Using a tool',
  waiting: 'Waiting',
  retrying: 'Retrying',
  compacting: 'Compacting',
  stopping: 'Stopping',
}

/** What a turn that runs is doing, in a few words: what needs somebody before what goes on. */
export function taskWords(task: Task): { label: string; tone: Tone } {
  if (task.isZombie) return { label: 'No sign of life', tone: 'critical' }
  if (task.waitsFor) {
    const many = task.needsInput > 1 ? `${task.needsInput} asks wait` : WAITS[task.waitsFor]
    return { label: many, tone: 'warning' }
  }
  const { activity, subagents } = task
  const label = activity?.label ?? STATES[activity?.state ?? 'starting'] ?? activity?.state ?? 'Starting'
  const helpers = subagents > 0 ? ` · ${subagents} ${subagents === 1 ? 'sub-agent' : 'sub-agents'}` : ''
  return { label: cut(label) + helpers, tone: activity?.state === 'retrying' ? 'warning' : 'neutral' }
}

/** How a turn ended, in a few words. */
export function endWords({ status, durationMs, error }: Task): { label: string; tone: Tone } {
  if (status === 'failed') return { label: cut(error ? `Failed: ${error}` : 'Failed'), tone: 'critical' }
  if (status === 'cancelled') return { label: 'Cancelled', tone: 'neutral' }
  return {
    label: durationMs === undefined ? 'Done' : `Done in ${elapsed(Math.max(durationMs, 1_000))}`,
    tone: 'success',
  }
}

/** The bubble of a turn as it is told now. */
export function bubbleOf(task: Task, known: Bubble | undefined, now: number): Bubble {
  const { runId } = task
  if (task.status !== 'running') return { runId, phase: 'settling', until: now + SETTLING_MS, ...endWords(task) }
  if (known?.runId === runId && known.phase !== 'settling') return { ...known, ...taskWords(task) }
  return { runId, phase: 'entering', until: now + ENTERING_MS, ...taskWords(task) }
}

/** What time has made of a bubble; nothing when it is gone. */
export function later(bubble: Bubble, now: number): Bubble | undefined {
  if (bubble.until === undefined || now < bubble.until) return bubble
  if (bubble.phase === 'settling') return undefined
  const { runId, label, tone } = bubble
  return { runId, label, tone, phase: 'live' }
}

/** How near an agent is to the end of what it can hold in mind; nothing while there is room. */
export function pressureOf(context: { used: number; window: number } | null | undefined): Pressure | undefined {
  if (!context || context.window <= 0) return undefined
  const percent = Math.round((context.used / context.window) * 100)
  if (percent >= 100) return { percent, level: 'exceeded' }
  if (percent >= 95) return { percent, level: 'critical' }
  return percent >= 80 ? { percent, level: 'warning' } : undefined
}

export interface Pressure {
  percent: number
  level: 'warning' | 'critical' | 'exceeded'
}
