// Hooks for React: what is followed, as state of a component. A stream begins with the component and ends with it; it comes back by itself meanwhile.
// Everything that is given is new when it changed and the same when it did not, so that `memo` can rely on it.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'

import type { Message, Turnloom } from './client.js'
import { actionsOf, componentsOf, type ComponentActions, type ShownComponent } from './components/watch.js'
import type { TurnloomError } from './error.js'
import type { Connection, StreamOptions } from './follow.js'
import type { StreamSessionsOptions } from './lists.js'
import { makePatch } from './patch.js'
import { followPictureUrl } from './pictures.js'
import type { RegisterToolOptions, ToolHandler } from './tools.js'
import type { Ask, PatchOperation, Receipt, Session } from './types.js'
import type { Message as ViewMessage, View } from './view/types.js'

/** What is told of every stream. */
export interface Followed {
  connection: Connection
  /** Why there is nothing more: trying again would not help. */
  error: TurnloomError | undefined
}

const CONNECTING: Connection = { state: 'connecting' }

interface State<T> {
  /** What it belongs to. */
  key: unknown
  connection: Connection
  value?: T
  error?: TurnloomError
}

/** The newest of what a stream gives. Starts anew with another client, or another `key`. */
function useStream<T>(
  turnloom: Turnloom,
  open: (options: StreamOptions) => AsyncIterable<T>,
  key: unknown,
): Followed & { value: T | undefined } {
  const [state, setState] = useState<State<T>>({ connection: CONNECTING, key })
  const opening = useRef(open)
  opening.current = open
  useEffect(() => {
    const leave = new AbortController()
    const { signal } = leave
    const change = (part: Partial<State<T>>) => {
      if (signal.aborted) return
      setState((known) => ({ ...(known.key === key ? known : { connection: CONNECTING }), ...part, key }))
    }
    const run = async () => {
      try {
        const onConnection = (connection: Connection) => change({ connection })
        for await (const value of opening.current({ signal, onConnection })) change({ value })
      } catch (error) {
        change({ error: error as TurnloomError })
      }
    }
    void run()
    return () => leave.abort()
  }, [turnloom, key])
  // What belongs to another key is not shown, not even once.
  const current: State<T> = state.key === key ? state : { connection: CONNECTING, key }
  return { value: current.value, connection: current.connection, error: current.error }
}

/** An identity that changes with its parts, however often they are made anew. */
const useKey = (...parts: unknown[]): string => JSON.stringify(parts)

export interface FollowedSession extends Followed {
  turnloom: Turnloom
  id: string
  /** The conversation; not there before the daemon has answered. */
  view: View | undefined
  send: (message: Message) => Promise<Receipt>
  /** Stops the turn that runs. */
  stop: () => Promise<boolean>
  /** Puts older messages in front, as long as there are some (`view.before`). */
  loadOlder: () => Promise<void>
}

/** One session: its conversation as people read it, and what one does in it. */
export function useSession(turnloom: Turnloom, id: string, options: { messages?: number } = {}): FollowedSession {
  const key = useKey(id, options.messages)
  const followed = useStream(
    turnloom,
    (stream) => turnloom.streamView(id, { ...options, ...stream, copies: true }),
    key,
  )
  const [older, setOlder] = useState<{ key: string; messages: ViewMessage[]; before: string | undefined }>()
  const paged = older?.key === key ? older : undefined
  const view = useMemo(() => withOlder(followed.value, paged), [followed.value, paged])
  const before = view?.before
  return {
    turnloom,
    id,
    view,
    connection: followed.connection,
    error: followed.error,
    send: useCallback((message: Message) => turnloom.postMessage(id, message), [turnloom, id]),
    stop: useCallback(() => turnloom.stop(id), [turnloom, id]),
    loadOlder: useCallback(async () => {
      if (before === undefined) return
      const page = await turnloom.getView(id, { before })
      setOlder((known) => {
        const held = known?.key === key ? known.messages : []
        return { key, messages: [...page.messages, ...held], before: page.before }
      })
    }, [turnloom, id, key, before]),
  }
}

function withOlder(
  view: View | undefined,
  older: { messages: ViewMessage[]; before: string | undefined } | undefined,
): View | undefined {
  if (!view || !older) return view
  const known = new Set(view.messages.map((message) => message.id))
  const messages = [...older.messages.filter((message) => !known.has(message.id)), ...view.messages]
  const whole: View = { ...view, messages }
  if (older.before === undefined) delete whole.before
  else whole.before = older.before
  return whole
}

/** What is shown in a session, wherever it is: in the chat, beside it, above it. What did not change is the same object. */
export function useComponents(
  { view }: Pick<FollowedSession, 'view'>,
  { surface, name }: { surface?: ShownComponent['surface']; name?: string } = {},
): ShownComponent[] {
  const made = useRef(new WeakMap<object, ShownComponent>())
  return useMemo(() => {
    if (!view) return []
    const wanted = (shown: ShownComponent) => (!surface || shown.surface === surface) && (!name || shown.name === name)
    return componentsOf(view, made.current).filter(wanted)
  }, [view, surface, name])
}

/** What a person can do in a component: `callback(action, payload)` and, while somebody waits for it, `resolve(value)`. */
export function useComponentActions(
  { turnloom, id }: Pick<FollowedSession, 'turnloom' | 'id'>,
  component: ShownComponent,
): ComponentActions {
  return useMemo(() => actionsOf(turnloom, id, component), [turnloom, id, component])
}

export interface SharedDocument<T> {
  /** What everybody shares; not there before the daemon has answered, or when nobody has set it. */
  state: T | undefined
  patch: (patch: PatchOperation[]) => Promise<void>
  /** Changes a copy, and says what is different in one patch: `change((state) => { state.rows += 1 })`. */
  change: (edit: (state: T) => void) => Promise<void>
}

/** The document that the agent and all clients share. */
export function useSharedState<T extends object = Record<string, unknown>>({
  turnloom,
  id,
  view,
}: Pick<FollowedSession, 'turnloom' | 'id' | 'view'>): SharedDocument<T> {
  const state = view?.state as T | undefined
  const newest = useRef(state)
  newest.current = state
  const patch = useCallback(
    async (operations: PatchOperation[]) => {
      if (operations.length > 0) await turnloom.patchState(id, operations)
    },
    [turnloom, id],
  )
  const change = useCallback(
    (edit: (state: T) => void) => {
      const before = newest.current ?? ({} as T)
      const after = structuredClone(before)
      edit(after)
      return patch(makePatch(before, after))
    },
    [patch],
  )
  return { state, patch, change }
}

/**
 * A tool that this page runs when the agent calls it, as long as the component is there. The newest `run` is called; another name or schema registers
 * anew. `error` is why it could not be offered.
 */
export function useTool(
  { turnloom, id }: Pick<FollowedSession, 'turnloom' | 'id'>,
  name: string,
  schema: Record<string, unknown> | undefined,
  run: ToolHandler,
  { description }: Pick<RegisterToolOptions, 'description'> = {},
): { isRegistered: boolean; error: TurnloomError | undefined } {
  const newest = useRef(run)
  newest.current = run
  const key = useKey(id, name, schema, description)
  const [state, setState] = useState<{ key?: string; error?: TurnloomError }>({})
  useEffect(() => {
    const handler: ToolHandler = (input, call) => newest.current(input, call)
    const onError = (error: TurnloomError) => setState({ key, error })
    const [, , input_schema] = JSON.parse(key) as [string, string, Record<string, unknown> | null]
    const leave = new AbortController()
    const { signal } = leave
    const options = { onError, signal, ...(description !== undefined && { description }) }
    const registered = turnloom.tools(id).registerTool(name, input_schema ?? undefined, handler, options)
    registered.then(
      () => signal.aborted || setState({ key }),
      (error: unknown) => signal.aborted || onError(error as TurnloomError),
    )
    return () => leave.abort()
  }, [turnloom, id, name, description, key])
  const error = state.key === key ? state.error : undefined
  return { isRegistered: state.key === key && !error, error }
}

/** The list of sessions, newest activity first. */
export function useSessions(
  turnloom: Turnloom,
  options: Pick<StreamSessionsOptions, 'archived' | 'runtime' | 'limit'> = {},
): Followed & { sessions: Session[] | undefined } {
  const key = useKey(options.archived, options.runtime, options.limit)
  const { value, ...followed } = useStream(
    turnloom,
    (stream) => turnloom.streamSessions({ ...options, ...stream }),
    key,
  )
  return { sessions: value?.sessions, ...followed }
}

/** What waits for a person, over all sessions or in one. */
export function useAsks(
  turnloom: Turnloom,
  { session }: { session?: string } = {},
): Followed & { asks: Ask[] | undefined } {
  const { value, ...followed } = useStream(turnloom, (stream) => turnloom.streamAsks(stream), 'asks')
  const asks = useMemo(
    () => (session === undefined ? value : value?.filter(({ session_id }) => session_id === session)),
    [value, session],
  )
  return { asks, ...followed }
}

/** An address for `<img src>` of a picture in a session. It works for some minutes, and there is another one before they are over. */
export function usePictureUrl(turnloom: Turnloom, blobId: string | undefined): string | undefined {
  const [url, setUrl] = useState<{ of: string; url: string }>()
  useEffect(() => {
    if (blobId === undefined) return undefined
    return followPictureUrl(turnloom, blobId, (url) => setUrl({ of: blobId, url }))
  }, [turnloom, blobId])
  return url && url.of === blobId ? url.url : undefined
}
