// The client of a Turnloom daemon, for browsers and Node. It depends on nothing.

export { Turnloom, type Message as MessageToSend, type Permission } from './client.js'
export * from './components/index.js'
export { TurnloomError, UNREACHABLE } from './error.js'
export type { StreamEventsOptions, StreamTurnOptions } from './events.js'
export type { Connection, Reconnect, StreamOptions } from './follow.js'
export { newId } from './id.js'
export type { StreamSessionsOptions } from './lists.js'
export type { ByteRange, CallOptions, ClientOptions } from './request.js'
export { applyPatch, makePatch, PatchError } from './patch.js'
export { SessionTools, type RegisterToolOptions, type ToolCallContext, type ToolHandler } from './tools.js'
export type {
  ListedTask,
  ListTasks,
  Task,
  TaskActivity,
  TaskEvent,
  TaskList,
  TaskMetadata,
  TaskPresence,
  TaskProgress,
  TaskStatus,
  TaskType,
} from './tasks.js'
export type * from './types.js'
export type { StreamViewOptions } from './view/stream.js'
export * from './view/index.js'
export type { StreamWireOptions, WireLine } from './wire.js'
