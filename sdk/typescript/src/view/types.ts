// The names of what a view is made of. The shapes are generated from the daemon's own types; see `generated/`.

import type { components } from '../generated/api.js'

type Schemas = components['schemas']

/** A conversation as people read it: the newest messages, and what is true now. */
export type View = Omit<Schemas['View'], 'messages' | 'components'> & { messages: Message[]; components: Component[] }
export type Message = Omit<Schemas['ViewMessage'], 'blocks'> & { blocks: Block[] }
/** The smallest change that brings a view forward. */
export type Op = Schemas['ViewOp']

/** One thing in a message. `kind` says which. More kinds and fields may be added. */
export type Block =
  | Exclude<Schemas['ViewBlock'], { kind: 'tool' | 'interrupt' | 'component' | 'subagent' }>
  | ToolBlock
  | InterruptBlock
  | ComponentBlock
  | SubagentBlock
export type TextBlock = Schemas['TextBlock']
export type ThinkingBlock = Schemas['ThinkingBlock']
export type ToolBlock = Schemas['ToolBlock'] & { covered_by?: string }
export type PermissionBlock = Schemas['PermissionBlock']
export type QuestionBlock = Schemas['QuestionBlock']
export type InterruptBlock = Schemas['InterruptBlock'] & {
  component_id?: string
  actions?: string[]
  title?: string
  value_schema?: unknown
}
export type ComponentBlock = Schemas['ComponentBlock'] & ComponentState
export type SubagentBlock = Omit<Schemas['SubagentBlock'], 'blocks'> & { blocks: Block[] }
/** Another session that works for this one. */
export type DelegationBlock = Schemas['DelegationBlock']
/** An ask of such a session; `session_id` says which one is answered. */
export type DelegatedAsk = Schemas['DelegatedAsk']
export type PlanBlock = Schemas['PlanBlock']
export type DiffBlock = Schemas['DiffBlock']
export type ArtifactBlock = Schemas['ArtifactBlock']
export type ImageBlock = Schemas['ImageBlock']
export type CompactionBlock = Schemas['CompactionBlock']
export type ErrorBlock = Schemas['ErrorBlock']
export type NoteBlock = Schemas['NoteBlock']
export type UnknownBlock = Schemas['UnknownBlock']

export type Activity = Schemas['ViewActivity']
/** Something that goes on between turns: a command, another tool's call, a sub-agent, or a time the agent has set itself. */
export type BackgroundWork = Schemas['ViewBackground']
export type BlobRef = Schemas['BlobRef']
/** A file that is different from how it was when the session began to change it. */
export type ChangedFile = Schemas['ViewFile']
export type Component = Schemas['ViewComponent'] & ComponentState
/** What the rules said about a call. */
export type Decision = Schemas['ViewDecision']
export type FileDiff = Schemas['FileDiff']
export type Part = Schemas['Part']
export type Judged = Schemas['Judged']
export type PermissionOption = Schemas['PermissionOption']
export type Plan = Schemas['ViewPlan']
export type Question = Schemas['Question']
/** A message that waits. */
export type QueuedMessage = Schemas['QueueItem']
export type SlashCommand = Schemas['SlashCommand']
export type ToolImage = Schemas['Image']
/** Why nobody answered: the agent took it back, the turn was stopped, or whoever asked is gone. */
export type Unanswered = Schemas['Unanswered']
export type Usage = Schemas['Usage']

/** What is true of a component besides its properties. */
export interface ComponentState {
  status?: 'loading' | 'ready' | 'error'
  error?: string
  tool_use_id?: string
  /** The part of the shared state that it shows. */
  bind?: { pointer: string; as?: string; edits?: boolean }
  /** The ask that it answers. */
  waiting?: string
  by?: string
}
