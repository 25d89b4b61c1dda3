// The shapes that the daemon sends: views (which are the SDK's), sessions, agents, asks, events.

export type * from 'turnloom/view'

export interface Capabilities {
  steer: boolean
  resume: boolean
  fork: boolean
  rollback: boolean
  compact: boolean
  set_model: boolean
  set_mode: boolean
  edit_input: boolean
  images: boolean
  files: boolean
}

export type SessionStatus = 'idle' | 'running' | 'waiting' | 'stopping' | 'archived' | 'failed'

export interface Session {
  session_id: string
  runtime: string
  status: SessionStatus
  head: number
  title: string
  archived?: boolean
  cwd?: string
  model?: string
  mode?: string
  settings?: Record<string, unknown>
  asks?: number
  queued?: number
  capabilities?: Partial<Capabilities>
  created_at: string
  updated_at: string
}

/** What may be changed while a session lives, besides its model and mode. */
export interface Setting {
  name: string
  takes: 'choice' | 'choice_or_object' | 'text' | 'number'
  choices?: string[]
}

export interface Agent {
  id: string
  name: string
  installed: boolean
  version?: string
  capabilities?: Partial<Capabilities>
  modes?: string[]
  settings?: Setting[]
  problem?: string
  fix?: string
}

export interface Ask {
  session_id: string
  session_title: string
  ask_id: string
  kind: 'permission' | 'question' | 'interrupt'
  asked_at: string
  title: string
  request: unknown
}

export interface LogEvent {
  seq: number
  ts: string
  type: string
  turn_id?: string
  data: unknown
}
