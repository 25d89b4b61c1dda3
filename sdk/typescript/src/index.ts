// The client of a Turnloom daemon, for browsers and Node. It depends on nothing.

export { Turnloom, type Message as MessageToSend, type Permission } from './client.js'
export { TurnloomError, UNREACHABLE } from './error.js'
export type { StreamEventsOptions, StreamTurnOptions } from './events.js'
export type { Connection, Reconnect, StreamOptions } from './follow.js'
export type { CallOptions, ClientOptions } from './request.js'
export type * from './types.js'
export type { StreamViewOptions } from './view/stream.js'
export * from './view/index.js'
