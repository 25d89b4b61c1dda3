// The functions of an agent, as its sessions call them.

import type { ClientTool } from '../types.js'
import type { AgentProblem } from './errors.js'
import type { Press, PromptMessage, RollbackOrder } from './messages.js'
import type { Prompt } from './prompt.js'
import type { AgentSession } from './session.js'

/** What an agent says of itself when a session begins. */
export interface Ready {
  /** The agent's own name for the conversation, by which it finds it again. */
  provider_session_id?: string
  /** Whether it has the conversation that it was asked for. */
  resumed: boolean
  reason?: string
  model?: string
  mode?: string
  version?: string
  commands?: { name: string; description?: string }[]
  models?: { id: string; name: string }[]
}

type Result<T = unknown> = T | Promise<T>

export interface Handlers {
  name: string
  stopGraceMs: number
  onProblem(problem: AgentProblem): void
  open(session: AgentSession): Promise<Ready>
  /** One of these two. */
  session?: ((session: AgentSession) => Result) | undefined
  turn?: ((session: AgentSession, prompt: Prompt) => Result) | undefined
  /** By action; `*` is for all others. */
  callbacks: Map<string, (session: AgentSession, press: Press) => Result>
  steer?: ((session: AgentSession, message: PromptMessage) => Result) | undefined
  compact?: ((session: AgentSession) => Result) | undefined
  rollback?: ((session: AgentSession, order: RollbackOrder) => Result<RolledBack | undefined>) | undefined
  setModel?: ((session: AgentSession, model: string) => Result) | undefined
  setMode?: ((session: AgentSession, mode: string) => Result) | undefined
  configure?: ((session: AgentSession, settings: Settings) => Result) | undefined
}

export interface RolledBack {
  filesRestored?: boolean
  /** The next session goes on from a copy. */
  branched?: boolean
}

/** What is changed of what `params` said. */
export type Settings = Record<string, unknown> & { client_tools?: ClientTool[] }
