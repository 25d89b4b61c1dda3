// What the daemon says to an agent, and how it is read: nothing that comes from outside is believed to have a shape. Not here: what an agent says,
// which are the events of `types.ts`.

import { isObject } from '../patch.js'
import type { ClientTool, EventType, PatchOperation } from '../types.js'
import type { Part } from '../view/types.js'

/** The types of events that an agent may say. Their `data` is that of the event. */
export type SaidType = Extract<
  EventType,
  | 'delta'
  | 'thinking'
  | 'retracted'
  | 'tool_start'
  | 'tool_progress'
  | 'tool_result'
  | 'status'
  | 'usage'
  | 'result'
  | 'error'
  | 'plan_updated'
  | 'diff_updated'
  | 'component_update'
  | 'component_remove'
  | 'state_snapshot'
  | 'state_delta'
  | 'artifact_created'
  | 'artifact_updated'
  | 'artifact_version'
  | 'artifact_removed'
  | 'evidence_changed'
  | 'subagent_started'
  | 'subagent_ended'
  | 'background_started'
  | 'background_ended'
  | 'compaction_start'
  | 'compaction_end'
  | 'session_updated'
  | 'mode_changed'
  | 'model_changed'
>

/** How a session begins. */
export type Beginning =
  | { kind: 'fresh' }
  | { kind: 'resume'; provider_session_id: string; wanted?: unknown }
  | { kind: 'fork'; provider_session_id: string; at?: string }

/** What the daemon wants a session to be. More fields may come. */
export interface Opening {
  cwd?: string
  model?: string
  mode?: string
  system_prompt?: string
  beginning: Beginning
  /** What the session was created with and the daemon does not know: yours. */
  params: Record<string, unknown>
  client_tools: ClientTool[]
}

/** One message of a prompt, or of a steer. */
export interface PromptMessage {
  message_id: string
  content: Part[]
  origin: string
  by?: string
}

/** Somebody did something in a component. */
export interface Press {
  component_id: string
  name?: string
  action: string
  payload: unknown
  by: string
}

/** Turns that are to be forgotten. */
export interface RollbackOrder {
  turn_ids: string[]
  kept: number
  to?: string
  first_message?: string
  restore_files: boolean
}

/** A permission as a person answered it. */
export interface PermissionGiven {
  reply: 'once' | 'always' | 'reject'
  updated_input?: unknown
  message?: string
  rule?: string
}

/** A message of the daemon: its fields are read one by one. */
export type Fields = Record<string, unknown>

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A position: a whole number from 0 on. */
export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

/** One line or frame; nothing when it is no object with a type. */
export function parse(text: string): Fields | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return isObject(message) && typeof message['type'] === 'string' ? message : undefined
  } catch {
    return undefined
  }
}

export function readOpening(value: unknown): Opening {
  const fields = fieldsOf(value)
  const beginning = fieldsOf(fields['beginning'])
  const kind = beginning['kind'] === 'resume' || beginning['kind'] === 'fork' ? beginning['kind'] : 'fresh'
  const text = (name: string) => (textOf(fields[name]) === undefined ? {} : { [name]: fields[name] })
  return {
    ...fields,
    ...text('cwd'),
    beginning: { ...beginning, kind } as Beginning,
    params: fieldsOf(fields['params']),
    client_tools: listOf(fields['client_tools']).filter(
      (tool) => isObject(tool) && typeof tool['name'] === 'string',
    ) as unknown as ClientTool[],
  }
}

/** Nothing when it has no id: it could not be answered. */
export function readMessage(value: unknown): PromptMessage | undefined {
  const fields = fieldsOf(value)
  const message_id = textOf(fields['message_id'])
  if (message_id === undefined) return undefined
  const content = listOf(fields['content']).filter((part) => isObject(part) && typeof part['type'] === 'string')
  const by = textOf(fields['by'])
  return {
    message_id,
    content: content as Part[],
    origin: textOf(fields['origin']) ?? 'user',
    ...(by !== undefined && { by }),
  }
}

export function readPress(fields: Fields): Press | undefined {
  const component_id = textOf(fields['component_id'])
  const action = textOf(fields['action'])
  if (component_id === undefined || action === undefined) return undefined
  const name = textOf(fields['name'])
  const by = textOf(fields['by']) ?? ''
  return { component_id, action, payload: fields['payload'], by, ...(name !== undefined && { name }) }
}

export function readRollback(fields: Fields): RollbackOrder {
  const to = textOf(fields['to'])
  const first_message = textOf(fields['first_message'])
  return {
    turn_ids: listOf(fields['turn_ids']).filter((id) => typeof id === 'string'),
    kept: numberOf(fields['kept']) ?? 0,
    restore_files: fields['restore_files'] === true,
    ...(to !== undefined && { to }),
    ...(first_message !== undefined && { first_message }),
  }
}

export const readPatch = (value: unknown): PatchOperation[] | undefined =>
  Array.isArray(value) ? (value as PatchOperation[]) : undefined
