// Every request the page makes. Not here: state.

import { Requester } from 'turnloom/request'
import type { Agent, Ask, LogEvent, Part, Session, View } from './types'

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly fix?: string,
  ) {
    super(detail)
  }
}

/** Called when the daemon does not know this browser. */
let onSignedOut: () => void = () => undefined
export function whenSignedOut(callback: () => void): void {
  onSignedOut = callback
}

export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, 'unreachable', 'The daemon does not answer.', 'turnloom up')
}

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (method !== 'GET') headers['Turnloom-Client'] = 'web'
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const response = await fetch(path, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  })
  if (response.status === 401) onSignedOut()
  if (!response.ok) {
    const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; fix?: string }
    const detail = problem.detail ?? `The daemon answered ${response.status}.`
    throw new Problem(response.status, problem.code ?? 'unknown', detail, problem.fix)
  }
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** Where the page came from, as the SDK asks it: for what the SDK follows. */
const daemon = new Requester({ url: '' })

const of = (id: string, rest = '') => `/api/sessions/${encodeURIComponent(id)}${rest}`
const query = (fields: Record<string, string | number | undefined>) => {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined)
  return '?' + new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
}

export interface Receipt {
  accepted: boolean
  message_id: string
  turn_id?: string
  queued: boolean
}
export type When = 'queue' | 'steer' | 'reject'
export type PermissionAnswer = {
  reply: 'once' | 'always' | 'reject'
  rule?: string
  updated_input?: unknown
  message?: string
  /** End the turn as well. */
  stop?: boolean
}

/** What of a session may be changed. */
export interface Changes {
  title?: string
  model?: string
  mode?: string
  settings?: Record<string, unknown>
}

export const api = {
  agents: () => request<{ agents: Agent[] }>('GET', '/api/agents'),
  asks: () => request<{ asks: Ask[] }>('GET', '/api/asks'),
  sessions: (fields: { archived?: 'true'; q?: string; limit?: number; cursor?: string }) =>
    request<{ sessions: Session[]; next_cursor?: string }>('GET', '/api/sessions' + query(fields)),
  session: (id: string) => request<Session>('GET', of(id)),
  create: (session_id: string, runtime: string, params: Record<string, string>) =>
    request<Session>('POST', '/api/sessions', { session_id, runtime, params }),
  update: (id: string, fields: Changes) => request<Session>('PATCH', of(id), fields),
  archive: (id: string) => request<Session>('DELETE', of(id)),
  /** Removes it for good: what was said, and the files that belong to it. */
  purge: (id: string) => request<undefined>('DELETE', of(id) + query({ purge: 'true' })),
  resume: (id: string) => request<Session>('POST', of(id, '/resume'), {}),
  unarchive: (id: string) => request<Session>('POST', of(id, '/unarchive')),
  fork: (id: string, at_turn?: string) => request<Session>('POST', of(id, '/fork'), at_turn ? { at_turn } : {}),
  rollback: (id: string, turns: number) => request<Session>('POST', of(id, '/rollback'), { turns }),
  compact: (id: string) => request<unknown>('POST', of(id, '/compact')),
  send: (id: string, message: string | Part[], message_id: string, when: When) =>
    request<Receipt>('POST', of(id, '/message'), { message, message_id, when }),
  timings: (timings: { step: string; ms: number }[]) => request<null>('POST', '/api/timings', { timings }),
  stop: (id: string) => request<{ stopped: boolean }>('POST', of(id, '/stop'), {}),
  unqueue: (id: string, message_id: string) =>
    request<unknown>('DELETE', of(id, `/queue/${encodeURIComponent(message_id)}`)),
  reorder: (id: string, order: string[]) => request<unknown>('PATCH', of(id, '/queue'), { order }),
  permission: (id: string, ask: string, answer: PermissionAnswer) =>
    request<unknown>('POST', of(id, `/permissions/${encodeURIComponent(ask)}`), answer),
  question: (id: string, ask: string, answers: string[][]) =>
    request<unknown>('POST', of(id, `/questions/${encodeURIComponent(ask)}`), { answers }),
  rejectQuestion: (id: string, ask: string) =>
    request<unknown>('POST', of(id, `/questions/${encodeURIComponent(ask)}/reject`)),
  interrupt: (id: string, ask: string, value: unknown) =>
    request<unknown>('POST', of(id, `/interrupt/${encodeURIComponent(ask)}`), { value }),
  /** The result of a tool that a client runs. */
  toolResult: (id: string, call: string, output: unknown, is_error: boolean) =>
    request<unknown>('POST', of(id, `/tool-results/${encodeURIComponent(call)}`), { output, is_error }),
  callback: (id: string, component: string, action: string, payload: unknown) =>
    request<unknown>('POST', of(id, `/components/${encodeURIComponent(component)}/callback`), { action, payload }),
  view: (id: string, before: string, messages: number, signal: AbortSignal) =>
    request<View>('GET', of(id, '/view') + query({ messages, before }), undefined, signal),
  events: (id: string, after: number, limit: number) =>
    request<{ events: LogEvent[]; head: number; has_more: boolean }>(
      'GET',
      of(id, '/events') + query({ after, limit }),
    ),
  viewStream: (id: string, after: number | undefined, messages: number, signal: AbortSignal) =>
    daemon.open(of(id, '/view/stream'), { query: { after, messages }, accept: 'text/event-stream', signal }),
  /** Bytes of something large, from `start` to before `end`. */
  blob: async (id: string, start: number, end: number): Promise<string> => {
    const response = await fetch(`/api/blobs/${id}`, { headers: { Range: `bytes=${start}-${end - 1}` } })
    if (!response.ok)
      throw new Problem(response.status, 'blob_not_found', 'The rest of this output is not stored any more.')
    return response.text()
  },
}

export const blobUrl = (id: string) => `/api/blobs/${encodeURIComponent(id)}`

/** A fresh id, also where the page is not served over a secure address. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
