// Agents of your own, for Node: a program that connects to the daemon, or that the daemon starts.

export { Agent, type AgentOptions, type Capability, type RunOptions } from './agent.js'
export type { AskOptions } from './asks.js'
export { SessionGone, Stopped, Withdrawn, type AgentProblem } from './errors.js'
export type { Ready, RolledBack, Settings } from './handlers.js'
export type { Beginning, Opening, PermissionGiven, Press, PromptMessage, RollbackOrder, SaidType } from './messages.js'
export type { Prompt, TurnEnd } from './prompt.js'
export type { AgentSession, PermissionAsked, WaitOptions } from './session.js'
export type { Activity, ChangeOptions, ComponentOptions, SayOptions, SaidData, Surface, ToolCall } from './speaker.js'
export type { AgentState, StateChange } from './state.js'
export type { Pipes } from './stdio.js'
export { TurnloomError } from '../error.js'
