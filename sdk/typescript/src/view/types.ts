// The view: a session as people read it. Written by hand, because a view is a tree that grows by the daemon's changes (see `apply.ts`).

import type { Block, Component, Plan } from './blocks.js'

export interface Usage {
  input_tokens: number
  output_tokens: number
  cached_tokens?: number
  reasoning_tokens?: number
  cost_usd?: number
  context_used?: number
  context_window?: number
}

export interface Message {
  id: string
  role: 'user' | 'agent' | 'system'
  turn_id?: string
  blocks: Block[]
  done: boolean
  content: string
  started_at: string
  ended_at?: string
  outcome?: 'completed' | 'stopped' | 'interrupted' | 'failed'
  reason?: string
  usage?: Usage
  origin?: string
}

export interface Activity {
  state: string
  label?: string
  attempt?: number
  since: string
}

export interface SlashCommand {
  name: string
  description?: string
  hint?: string
}

export interface View {
  seq: number
  session: {
    session_id?: string
    runtime?: string
    title?: string
    cwd?: string
    model?: string
    mode?: string
    provider_session_id?: string
    resumed?: boolean
    turn?: string
    archived?: boolean
    ended?: { reason: string; message?: string }
    /** What the agent understands after a slash. */
    commands?: SlashCommand[]
  }
  messages: Message[]
  asks: { ask_id: string; kind: string; path: string[]; asked_at: string }[]
  queue: { message_id: string; preview: string; state: string }[]
  steers: { message_id: string; content?: Part[] }[]
  components: Component[]
  background: { background_id: string; kind: string; label: string; tool_use_id?: string; started_at: string }[]
  state?: unknown
  plan?: Plan | null
  activity?: Activity | null
  usage?: Usage
  before?: string
}

export type Part =
  { type: 'text'; text: string } | { type: 'image'; media_type: string; data: string } | { type: 'file'; path: string }
