// What began a turn, in a word or two.

import type { Task } from 'turnloom'

const ORIGINS: Record<string, string> = { api: 'by a program', agent: 'by the agent', import: 'imported' }

/** Nothing for what a person began here. */
export function kindWords({ type, origin, metadata }: Pick<Task, 'type' | 'origin' | 'metadata'>): string {
  if (type === 'scheduled') return 'scheduled'
  if (type === 'delegation') return 'delegated'
  if (type === 'channel') return metadata.channel ?? metadata.channelType ?? 'channel'
  return ORIGINS[origin] ?? ''
}
