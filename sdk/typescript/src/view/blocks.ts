// The blocks of a message, as the daemon sends them. Fields may be added at any time; nothing here relies on their absence.

export interface BlobRef {
  id: string
  size: number
  media_type: string
  head: string
  tail: string
}

interface Base {
  id: string
  started_at?: string
  ended_at?: string
}

export interface TextBlock extends Base {
  kind: 'text'
  text: string
  done: boolean
  interrupted?: boolean
}
export interface ThinkingBlock extends Base {
  kind: 'thinking'
  text: string
  done: boolean
  interrupted?: boolean
}
export interface ToolBlock extends Base {
  kind: 'tool'
  tool_use_id: string
  tool: string
  input?: unknown
  input_blob?: BlobRef
  command?: string
  file_path?: string
  pattern?: string
  is_file_read?: boolean
  subagent_name?: string
  status: 'running' | 'done' | 'failed' | 'denied' | 'interrupted' | 'background'
  summary: string
  output?: string
  live?: string
  fraction?: number
  exit_code?: number
  diff?: string
  blob?: BlobRef
}
export interface PermissionOption {
  reply: 'once' | 'always' | 'reject'
  label: string
  rule?: string
}
export interface PermissionBlock extends Base {
  kind: 'permission'
  ask_id: string
  tool_name: string
  tool_input: unknown
  tool_use_id?: string
  title: string
  options: PermissionOption[]
  state: 'pending' | 'allowed' | 'rejected'
  by?: string
  reply?: string
  reason?: string
  rule?: string
}
export interface Question {
  prompt: string
  header?: string
  options: { label: string; description?: string }[]
  multiple: boolean
  free_text: boolean
}
export interface QuestionBlock extends Base {
  kind: 'question'
  ask_id: string
  questions: Question[]
  title?: string
  state: 'pending' | 'answered' | 'rejected'
  answers?: string[][]
  by?: string
  reason?: string
}
export interface InterruptBlock extends Base {
  kind: 'interrupt'
  ask_id: string
  component_name: string
  props: unknown
  surface: string
  /** The call that waits, when a client has to run a tool. */
  tool_use_id?: string
  state: 'pending' | 'answered' | 'failed' | 'withdrawn'
  value?: unknown
  by?: string
  reason?: string
}
export interface Component {
  component_id: string
  name: string
  surface: string
  props: unknown
}
export interface ComponentBlock extends Base, Component {
  kind: 'component'
}
export interface SubagentBlock extends Base {
  kind: 'subagent'
  subagent_id: string
  name: string
  status: 'running' | 'completed' | 'failed' | 'interrupted'
  background?: boolean
  tool_calls: number
  file_changes: number
  blocks: Block[]
}
export interface Plan {
  steps: { text: string; status: 'pending' | 'running' | 'done' }[]
  explanation?: string
}
export interface PlanBlock extends Base, Plan {
  kind: 'plan'
}
export interface FileDiff {
  path: string
  kind: string
  diff: string
}
export interface DiffBlock extends Base {
  kind: 'diff'
  files: FileDiff[]
}
export interface ArtifactBlock extends Base {
  kind: 'artifact'
  artifact_id?: string
  title: string
  media_type: string
  path?: string
  content?: string
  blob?: BlobRef
  version?: number
}
export interface ImageBlock extends Base {
  kind: 'image'
  media_type: string
  data?: string
  content?: string
  blob?: BlobRef
  title?: string
}
export interface CompactionBlock extends Base {
  kind: 'compaction'
  status: 'running' | 'done' | 'failed'
  trigger: string
  removed?: number
  kept?: number
  tokens_before?: number
  tokens_after?: number
}
export interface ErrorBlock extends Base {
  kind: 'error'
  message: string
  code: string
  retryable: boolean
  fix?: string
}
export interface NoteBlock extends Base {
  kind: 'status'
  level: string
  label: string
}
export interface UnknownBlock extends Base {
  kind: 'unknown'
  type: string
  data: unknown
}

export type Block =
  | TextBlock
  | ThinkingBlock
  | ToolBlock
  | PermissionBlock
  | QuestionBlock
  | InterruptBlock
  | ComponentBlock
  | SubagentBlock
  | PlanBlock
  | DiffBlock
  | ArtifactBlock
  | ImageBlock
  | CompactionBlock
  | ErrorBlock
  | NoteBlock
  | UnknownBlock
