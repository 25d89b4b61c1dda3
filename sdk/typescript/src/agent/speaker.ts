// What an agent can say, in its own words instead of events. Not here: how it is carried, and what the daemon says.

import type { MergeMode, Props } from '../components/merge.js'
import type { BuiltinName, BuiltinProps } from '../components/builtin.js'
import { newId } from '../id.js'
import type { EventOf, PatchOperation } from '../types.js'
import { messageOf } from './errors.js'
import type { SaidType } from './messages.js'

export type Surface = EventOf<'component_update'>['data']['surface']
export type Activity = EventOf<'status'>['data']['state']

export interface SayOptions {
  /** The sub-agent that says it. */
  subagentId?: string
}

/** The data of an event, where a block need not be named. */
export type SaidData<T extends SaidType> = T extends 'delta' | 'thinking'
  ? Omit<EventOf<T>['data'], 'block_id'> & { block_id?: string }
  : EventOf<T>['data']

export interface ComponentOptions {
  status?: 'loading' | 'ready' | 'error'
  /** What went wrong, for people. */
  error?: string
  /** The call that it belongs to. */
  toolUseId?: string
  /** A place in the shared state that it always shows. */
  bind?: { pointer: string; as?: string; edits?: boolean }
}

/** A change may also move a component. */
export interface ChangeOptions extends Omit<ComponentOptions, 'toolUseId' | 'bind'> {
  surface?: Surface
}

export type ErrorOptions = Partial<Pick<EventOf<'error'>['data'], 'code' | 'retryable' | 'fix'>>

/** How many components are remembered by name; the daemon shows fewer. */
const REMEMBERED = 1_000

export abstract class Speaker {
  #block: { voice: string; id: string } | undefined
  readonly #shown = new Map<string, { name: string; surface: Surface }>()

  /** Says any event. Resolves when there is room for more, not when the daemon has it: that is `committed`. */
  abstract emit<T extends SaidType>(type: T, data: SaidData<T>, options?: SayOptions): Promise<void>

  /** A piece of the answer. Pieces make one text until something else is said. */
  text(text: string, options?: SayOptions): Promise<void> {
    return this.emit('delta', { block_id: this.#blockOf('delta', options), text }, options)
  }

  thinking(text: string, options?: SayOptions): Promise<void> {
    return this.emit('thinking', { block_id: this.#blockOf('thinking', options), text }, options)
  }

  /** What the person who waits is told: `status('tool', 'Reading 3 files')`. */
  status(state: Activity, label?: string, detail?: unknown): Promise<void> {
    return this.emit('status', {
      state,
      ...(label !== undefined && { label }),
      ...(detail !== undefined && { detail }),
    })
  }

  /** All that the turn has used so far. */
  usage(usage: EventOf<'usage'>['data']): Promise<void> {
    return this.emit('usage', usage)
  }

  plan(steps: EventOf<'plan_updated'>['data']['steps'], explanation?: string): Promise<void> {
    return this.emit('plan_updated', { steps, ...(explanation !== undefined && { explanation }) })
  }

  artifact(artifact: EventOf<'artifact_created'>['data']): Promise<void> {
    return this.emit('artifact_created', artifact)
  }

  /** Something went wrong, and the turn goes on. */
  error(message: string, { code = 'agent_failed', retryable = false, fix }: ErrorOptions = {}): Promise<void> {
    return this.emit('error', { message, code, retryable, ...(fix != null && { fix }) })
  }

  /** A call of a tool that the agent runs itself. With a function, its value is the result and what it throws an error result, which is thrown on. */
  tool(name: string, input?: unknown): Promise<ToolCall>
  tool<T>(name: string, input: unknown, run: (tool: ToolCall) => T | Promise<T>): Promise<T>
  async tool<T>(name: string, input?: unknown, run?: (tool: ToolCall) => T | Promise<T>): Promise<ToolCall | T> {
    const call = new ToolCall(this, newId())
    await this.emit('tool_start', { tool_use_id: call.id, tool: name, ...(input !== undefined && { input }) })
    if (!run) return call
    try {
      const value = await run(call)
      await call.result(value)
      return value
    } catch (error) {
      // After a stop there is nobody to tell; the session closes the call.
      await call.fail(messageOf(error)).catch(() => undefined)
      throw error
    }
  }

  /** Shows a component, in place of what was there under its id. */
  component<N extends BuiltinName>(
    id: string,
    name: N,
    surface: Surface,
    props: BuiltinProps[N],
    options?: ComponentOptions,
  ): Promise<void>
  component(id: string, name: string, surface: Surface, props: Props, options?: ComponentOptions): Promise<void>
  component(
    id: string,
    name: string,
    surface: Surface,
    props: object,
    { toolUseId, ...options }: ComponentOptions = {},
  ): Promise<void> {
    this.#remember(id, { name, surface })
    const more = toolUseId === undefined ? options : { ...options, tool_use_id: toolUseId }
    return this.#update(id, 'replace', { props }, more)
  }

  /** Puts props over those that are there, key by key. */
  merge(id: string, props: Props, options: ChangeOptions = {}): Promise<void> {
    return this.#update(id, 'shallow', { props }, options)
  }

  /** Adds to lists and texts; everything else is replaced. */
  append(id: string, props: Props, options: ChangeOptions = {}): Promise<void> {
    return this.#update(id, 'append', { props }, options)
  }

  /** Merges objects in objects; `null` removes a key (RFC 7396). */
  deep(id: string, props: Props, options: ChangeOptions = {}): Promise<void> {
    return this.#update(id, 'deep', { props }, options)
  }

  /** A JSON Patch of the props, all of it or nothing. */
  patch(id: string, patch: PatchOperation[], options: ChangeOptions = {}): Promise<void> {
    return this.#update(id, 'patch', { props: {}, patch }, options)
  }

  remove(id: string): Promise<void> {
    this.#shown.delete(id)
    return this.emit('component_remove', { component_id: id })
  }

  /** Something else was said: the next text is a new block. */
  protected endBlock(): void {
    this.#block = undefined
  }

  #blockOf(voice: string, options: SayOptions | undefined): string {
    const whose = `${voice}:${options?.subagentId ?? ''}`
    if (this.#block?.voice !== whose) this.#block = { voice: whose, id: newId() }
    return this.#block.id
  }

  #remember(id: string, known: { name: string; surface: Surface }): void {
    this.#shown.delete(id)
    this.#shown.set(id, known)
    if (this.#shown.size > REMEMBERED) this.#shown.delete(this.#shown.keys().next().value as string)
  }

  /** A component that this process has not made is known to the session: it writes what is left out here. */
  #update(
    id: string,
    mode: MergeMode,
    content: { props: object; patch?: PatchOperation[] },
    options: ComponentOptions & { surface?: Surface; tool_use_id?: string },
  ): Promise<void> {
    const known = this.#shown.get(id)
    if (known && options.surface) this.#remember(id, { ...known, surface: options.surface })
    const data = { component_id: id, ...known, ...content, ...options, merge: mode !== 'replace', mode }
    return this.emit('component_update', data as unknown as SaidData<'component_update'>)
  }
}

/** A call that runs. One that is left open is closed with its turn. */
export class ToolCall {
  readonly id: string
  readonly #speaker: Speaker

  constructor(speaker: Speaker, id: string) {
    this.#speaker = speaker
    this.id = id
  }

  progress(text: string, fraction?: number): Promise<void> {
    const data = { tool_use_id: this.id, text, ...(fraction !== undefined && { fraction }) }
    return this.#speaker.emit('tool_progress', data)
  }

  /** A text as it is, anything else as JSON. */
  result(output: unknown): Promise<void> {
    return this.#end(output, false)
  }

  fail(output: unknown): Promise<void> {
    return this.#end(output, true)
  }

  #end(output: unknown, is_error: boolean): Promise<void> {
    const text = typeof output === 'string' ? output : output === undefined ? '' : JSON.stringify(output)
    return this.#speaker.emit('tool_result', { tool_use_id: this.id, output: text, is_error })
  }
}
