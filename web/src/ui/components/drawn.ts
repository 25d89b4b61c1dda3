// What every built-in component is given. It gets data and two functions, and nothing else of the page.

import type { Kept } from '../../lib/components/memory.svelte'
import type { Fields } from '../../lib/components/read'

export interface Drawn {
  props: Fields
  status: 'loading' | 'ready' | 'error'
  error?: string | undefined
  /** Whether the agent waits for an answer from it. */
  waiting: boolean
  componentId: string
  /** Tells the agent what was done. Says whether that was accepted. */
  callback: (action: string, payload: unknown) => Promise<boolean>
  /** Answers, while the agent waits. Says whether that was accepted. */
  onResolve: (value: unknown) => Promise<boolean>
  /** Nobody is asked any more. */
  readOnly: boolean
  /** What was answered. */
  answer?: unknown
  /** What is remembered while it is out of sight. */
  kept: Kept
}
