// The names that a program uses for what the daemon takes and gives. The shapes are generated; see `generated/`.

import type { components as Api } from './generated/api.js'
import type { components as Events } from './generated/events.js'

type Schemas = Api['schemas']

/** A request without the `null`s that the daemon would also take for what is left out. */
type Given<T> = { [K in keyof T]: undefined extends T[K] ? Exclude<T[K], null> : T[K] }

/** Parameters are a runtime's own, so the daemon does not describe them; but these are those of all. */
type WithTools<T, K extends keyof T> = Omit<T, K> & { [P in K]?: T[K] & { client_tools?: ClientTool[] } }

export type Agent = Schemas['AgentInfo']
export type Ask = Schemas['SessionAsk']
export type AskKind = Schemas['AskKind']
export type Cancelled = Schemas['Cancelled']
export type Capabilities = Schemas['Capabilities']
export type ComponentAction = Schemas['ComponentAction']
export type Conversation = Schemas['Conversation']
export type CreateSession = WithTools<Given<Schemas['Create']>, 'params'>
/** A file that a session has changed, with what is different now. */
export type FileChange = Schemas['ChangedFile']
export type ForkSession = Given<Schemas['Fork']>
export type Health = Schemas['Health']
export type ListSessions = Given<Schemas['ListQuery']>
export type LostAsk = Schemas['LostAsk']
export type MessageContent = Schemas['MessageContent']
export type MessagePart = Schemas['InputPart']
export type Noted = Schemas['Noted']
/** How long one step took between a person and the agent, as a page measured it. */
export type PageTiming = Schemas['Timing']
export type PermissionAnswer = Given<Schemas['Permission']>
export type PermissionReply = Schemas['PermissionReply']
export type ProblemDocument = Schemas['Problem']
export type QueueItem = Schemas['QueueItem']
export type Receipt = Schemas['Receipt']
export type Resolved = Schemas['Resolved']
export type RollbackSession = Given<Schemas['Rollback']>
export type RunStatus = Schemas['RunStatus']
export type SendMessage = Given<Schemas['Send']>
export type Session = Schemas['SessionView']
export type SessionList = Schemas['SessionList']
export type SessionStatus = Schemas['SessionStatus']
/** A parameter of a runtime, and what it takes. */
export type Setting = Schemas['Setting']
export type SharedState = Schemas['SharedState']
/** A browser that is signed in. */
export type SignIn = Schemas['SignIn']
export type ToolResult = Schemas['ToolResult']
export type UpdateSession = WithTools<Given<Schemas['Update']>, 'settings'>
export type ViewQuery = Given<Schemas['ViewQuery']>
export type When = Schemas['When']

/** A tool that clients run when the agent calls it. */
export interface ClientTool {
  /** Up to 48 letters, digits, `_` and `-`. */
  name: string
  /** For the model: what it does and when to use it. */
  description?: string
  /** A JSON Schema of an object; without one, any object is an input. */
  input_schema?: Record<string, unknown>
}

/** One step of a JSON Patch (RFC 6902). Paths are JSON Pointers: `/rows/0`. */
export type PatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; from: string; path: string }

/** One fact of a session's log. `type` says what `data` is. */
export type SessionEvent = Events['schemas']['Event']
export type EventType = SessionEvent['type']
/** The events of some types only: `EventOf<'delta' | 'done'>`. */
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>

/** A part of the log, in its order. */
export interface EventPage<T extends EventType = EventType> {
  events: EventOf<T>[]
  /** The newest position in the log. */
  head: number
  /** The `after` of the next page. With a filter a page may be empty and not the last. */
  next: number
  has_more: boolean
}
