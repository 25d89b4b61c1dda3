// The names that a program uses for what the daemon takes and gives. The shapes are generated; see `generated/`.

import type { components as Api } from './generated/api.js'
import type { components as Events } from './generated/events.js'

type Schemas = Api['schemas']

/** A request without the `null`s that the daemon would also take for what is left out. */
type Given<T> = { [K in keyof T]: undefined extends T[K] ? Exclude<T[K], null> : T[K] }

/** Parameters are a runtime's own, so the daemon does not describe them; but these are those of all. */
type WithTools<T, K extends keyof T> = Omit<T, K> & { [P in K]?: T[K] & { client_tools?: ClientTool[] } }

/** A rule that stands in the user's file. */
export type AddedRule = Schemas['AddedRule']
export type Agent = Schemas['AgentInfo']
export type Ask = Schemas['SessionAsk']
export type AskKind = Schemas['AskKind']
/** Numbers that are others after a change. */
export type AutomationVersions = Schemas['AutomationVersions']
/** What may be spent. */
export type BudgetLimits = Schemas['Limits']
export type Cancelled = Schemas['Cancelled']
export type Capabilities = Schemas['Capabilities']
/** A recorded call about which proposed rules say something else. */
export type ChangedCall = Schemas['ChangedCall']
export type Channel = Schemas['Channel']
export type ChannelDelivery = Schemas['ChannelDelivery']
export type ChannelPatch = Given<Schemas['ChannelPatch']>
export type ComponentAction = Schemas['ComponentAction']
export type Conversation = Schemas['Conversation']
export type CreateSession = WithTools<Given<Schemas['Create']>, 'params'>
/** A file that a session has changed, with what is different now. */
export type FileChange = Schemas['ChangedFile']
export type ForkSession = Given<Schemas['Fork']>
export type Health = Schemas['Health']
/** What is for a person, over all sessions. */
export type Inbox = Schemas['Inbox']
export type InboxItem = Schemas['InboxItem']
export type InboxKind = Schemas['InboxKind']
export type ListSessions = Given<Schemas['ListQuery']>
export type LostAsk = Schemas['LostAsk']
export type MadeWebhook = Schemas['MadeWebhook']
export type MessageContent = Schemas['MessageContent']
export type MessagePart = Schemas['InputPart']
/** A mode that a session could be in, and why not. */
export type ModeChoice = Schemas['ModeChoice']
export type NewChannel = Given<Schemas['NewChannel']>
export type NewWebhook = Given<Schemas['NewWebhook']>
export type NewSchedule = Given<Schemas['NewSchedule']>
export type NewNotificationDevice = Given<Schemas['NewNotificationDevice']>
export type Noted = Schemas['Noted']
export type NotificationDevice = Schemas['NotificationDevice']
/** Which devices are told of the inbox, and when. */
export type Notifications = Schemas['Notifications']
export type NotificationSettings = Schemas['NotificationSettings']
export type NotificationSettingsPatch = Partial<{ [K in keyof NotificationSettings]: NotificationSettings[K] | null }>
export type NotificationTried = Schemas['NotificationTried']
/** The user's own rules, as a file. */
export type OwnRules = Schemas['OwnRules']
/** How long one step took between a person and the agent, as a page measured it. */
export type PageTiming = Schemas['Timing']
export type PermissionAnswer = Given<Schemas['Permission']>
export type PermissionReply = Schemas['PermissionReply']
/** All rules that count somewhere. */
export type Policy = Schemas['Policy']
export type PolicyEffect = Schemas['PolicyEffect']
export type PolicyMode = Schemas['PolicyMode']
/** What is wrong with a file of rules. */
export type PolicyProblem = Schemas['PolicyProblem']
export type PolicyRule = Schemas['PolicyRule']
export type ProblemDocument = Schemas['Problem']
/** Rules in TOML that would take the place of the user's own. */
export type ProposedRules = Given<Schemas['Proposed']>
export type QueueItem = Schemas['QueueItem']
export type Receipt = Schemas['Receipt']
export type Resolved = Schemas['Resolved']
export type RollbackSession = Given<Schemas['Rollback']>
export type RuleLayer = Schemas['RuleLayer']
export type RuleScope = Schemas['RuleScope']
/** A rule that would answer what people keep answering. */
export type RuleSuggestion = Schemas['Suggestion']
/** Prompts that are sent by themselves. */
export type Schedule = Schemas['Schedule']
export type SchedulePreview = Given<Schemas['SchedulePreview']>
export type ScheduleTimes = Schemas['ScheduleTimes']
export type ScheduleRun = Schemas['Run']
export type ScheduleRuns = Schemas['ScheduleRuns']
export type ScheduleWhen = Schemas['Schedule']['when']
export type ScheduleUpdate = Given<Schemas['ScheduleUpdate']>
/** What proposed rules would have changed. */
export type RulesTest = Schemas['Tried']
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
/** What somebody has answered *always* to. */
export type StoredRule = Schemas['StoredRule']
export type ToolResult = Schemas['ToolResult']
export type UpdateSession = WithTools<Given<Schemas['Update']>, 'settings'>
/** What all sessions have spent, and may. */
export type Spending = Schemas['Usage']
export type ViewQuery = Given<Schemas['ViewQuery']>
export type Webhook = Schemas['Webhook']
export type WebhookDeliveries = Schemas['WebhookDeliveries']
export type WebhookPatch = Given<Schemas['WebhookPatch']>
export type WebhookTested = Schemas['WebhookTested']
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

/** A component that agents may show: what it takes, what it tells, and where it may stand. */
export interface ComponentEntry {
  name: string
  title?: string
  description?: string
  source: 'builtin' | 'config' | 'session' | 'mcp'
  /** Where it may stand, best first. */
  surfaces: Surface[]
  has_loading_state?: boolean
  /** A JSON Schema of an object. */
  props?: Record<string, unknown>
  callbacks?: { name: string; wakes?: boolean; payload?: unknown }[]
  /** What it answers when somebody waits for it. */
  resolves?: Record<string, unknown>
  tools?: string[]
  /** The page that draws it, in a frame: where it is, and whether it may use the shared state. */
  view?: Schemas['ComponentPage']
}
export interface ComponentList {
  components: ComponentEntry[]
  /** Another one when something has changed. */
  version: string
}
export type Surface = Schemas['Surface']

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

/** What a call would come to; `agent` where no rule is about it and the mode is the agent's own. */
export type WouldBe = Schemas['WouldBe']
