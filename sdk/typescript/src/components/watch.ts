// The components of a session, wherever they are shown, each time one has changed.

import type { Turnloom } from '../client.js'
import type { TurnloomError } from '../error.js'
import type { StreamOptions } from '../follow.js'
import type { Block, Component, View } from '../view/types.js'
import type { BuiltinCallbacks, BuiltinName, BuiltinProps } from './builtin.js'
import type { Props } from './merge.js'

/** A component that is shown. `surface` says where. */
export interface ShownComponent {
  component_id: string
  name: string
  surface: Component['surface']
  props: Props
  status?: 'loading' | 'ready' | 'error'
  /** What went wrong, for people. */
  error?: string
  /** The ask that it answers, as long as somebody waits for it. */
  waiting?: string
}

/** The same, when it is known which one it is: then its props have a type. */
export type BuiltinComponent<N extends BuiltinName> = Omit<ShownComponent, 'name' | 'props'> & {
  name: N
  props: BuiltinProps[N]
}

/** Whether it is this built-in component. Props come from an agent: they have the type that they should have. */
export function isBuiltin<N extends BuiltinName>(
  component: { name: string },
  name: N,
): component is BuiltinComponent<N> & typeof component {
  return component.name === name
}

export interface WatchComponentsOptions extends StreamOptions {
  /** Only those that are shown there. */
  surface?: Component['surface'] | undefined
  /** Only those with one of these names. */
  names?: readonly string[] | undefined
  /** How many of the newest messages are looked at for those in the chat. */
  messages?: number | undefined
}

/** Gives what is shown each time it has changed: a new list, in which what did not change is the same. */
export async function* streamComponents(
  turnloom: Turnloom,
  session: string,
  { surface, names, ...options }: WatchComponentsOptions = {},
): AsyncGenerator<ShownComponent[], void, undefined> {
  let known: ShownComponent[] | undefined
  const made = new WeakMap<object, ShownComponent>()
  for await (const view of turnloom.streamView(session, { ...options, copies: true })) {
    const shown = componentsOf(view, made).filter(
      (component) => (!surface || component.surface === surface) && (!names || names.includes(component.name)),
    )
    if (known && known.length === shown.length && known.every((component, at) => component === shown[at])) continue
    known = shown
    yield shown
  }
}

/** Tells what is shown, at once and each time it has changed. Gives a function that ends this. */
export function watchComponents(
  turnloom: Turnloom,
  session: string,
  tell: (components: ShownComponent[]) => void,
  options: WatchComponentsOptions & { onError?: (error: TurnloomError) => void } = {},
): () => void {
  const leave = new AbortController()
  const { onError, signal, ...rest } = options
  const ending = signal ? AbortSignal.any([signal, leave.signal]) : leave.signal
  const run = async () => {
    try {
      for await (const components of streamComponents(turnloom, session, { ...rest, signal: ending })) tell(components)
    } catch (error) {
      if (!ending.aborted) onError?.(error as TurnloomError)
    }
  }
  void run()
  return () => leave.abort()
}

/** Everything that a view shows: what is in the chat, in its order, and then the rest. */
export function componentsOf(view: View, made = new WeakMap<object, ShownComponent>()): ShownComponent[] {
  const chat = view.messages.flatMap(({ blocks }) => inBlocks(blocks, made))
  const ids = new Set(chat.map(({ component_id }) => component_id))
  const others = view.components.filter(({ component_id }) => !ids.has(component_id))
  return [...chat, ...others.map((component) => shownOf(component, made))]
}

function inBlocks(blocks: readonly Block[], made: WeakMap<object, ShownComponent>): ShownComponent[] {
  return blocks.flatMap((block): ShownComponent[] => {
    if (block.kind === 'subagent') return inBlocks(block.blocks, made)
    // One that has gone elsewhere is in the list of that place.
    if (block.kind === 'component') return block.surface === 'chat' ? [shownOf(block, made)] : []
    // A call of a client's tool has nothing to show.
    if (block.kind !== 'interrupt' || block.state !== 'pending' || block.surface !== 'chat' || block.tool_use_id)
      return []
    return [remember(made, block, () => asWaiting(block))]
  })
}

const asWaiting = (block: Extract<Block, { kind: 'interrupt' }>): ShownComponent => ({
  component_id: `interrupt-${block.ask_id}`,
  name: block.component_name,
  surface: block.surface,
  props: (block.props ?? {}) as Props,
  waiting: block.ask_id,
})

function shownOf(component: Component, made: WeakMap<object, ShownComponent>): ShownComponent {
  return remember(made, component, () => ({
    ...(component as ShownComponent),
    props: (component.props ?? {}) as Props,
  }))
}

function remember(made: WeakMap<object, ShownComponent>, of: object, make: () => ShownComponent): ShownComponent {
  const known = made.get(of)
  if (known) return known
  const fresh = make()
  made.set(of, fresh)
  return fresh
}

/** What a person does in a component, told to whoever has to know: the agent that waits, or the agent that shows it. */
export interface ComponentActions {
  callback<N extends BuiltinName, A extends keyof BuiltinCallbacks[N] & string>(
    action: A,
    payload: BuiltinCallbacks[N][A],
  ): Promise<void>
  callback(action: string, payload?: unknown): Promise<void>
  /** Answers the one who waits; rejected with a `TypeError` when nobody does. */
  resolve(value: unknown): Promise<void>
}

/** The two functions that every component is handed, for one that is shown. */
export function actionsOf(turnloom: Turnloom, session: string, component: ShownComponent): ComponentActions {
  return {
    callback: async (action: string, payload?: unknown) => {
      await turnloom.callBack(session, component.component_id, { action, payload: payload ?? {} })
    },
    resolve: async (value: unknown) => {
      if (component.waiting === undefined) throw new TypeError(`nobody waits for ${component.component_id}`)
      await turnloom.answerInterrupt(session, component.waiting, value)
    },
  }
}
