// One session of an agent: the turns that it is asked for, and everything that belongs to them. Not here: the connection.

import { AsyncLocalStorage } from 'node:async_hooks'

import type { Props } from '../components/merge.js'
import { newId } from '../id.js'
import type { EventOf, PatchOperation } from '../types.js'
import { Asks, type AskOptions } from './asks.js'
import { failureOf, messageOf, SessionGone, Stopped, Withdrawn, type AgentProblem } from './errors.js'
import type { Handlers } from './handlers.js'
import * as read from './messages.js'
import type { Fields, Opening, PermissionGiven, Press, SaidType } from './messages.js'
import type { Voice } from './outbox.js'
import { Prompt, type TurnEnd } from './prompt.js'
import { Queue } from './queue.js'
import { Speaker, type SaidData, type SayOptions, type Surface } from './speaker.js'
import { AgentState } from './state.js'

export interface WaitOptions extends AskOptions {
  /** `chat` if absent. */
  surface?: Surface
  /** Wait for one that is shown already, instead of showing another. */
  componentId?: string
  /** Only these actions end the wait; all, if absent. */
  actions?: string[]
  title?: string
  /** What the answer has to be: a JSON Schema. */
  valueSchema?: Record<string, unknown>
}

export interface PermissionAsked {
  toolName: string
  toolInput: unknown
  toolUseId?: string
  title?: string
  options?: EventOf<'permission_request'>['data']['options']
}

/** Words between which a text goes on: they stand beside the conversation, not in it. */
const BESIDE: readonly SaidType[] = [
  'delta',
  'thinking',
  'usage',
  'status',
  'tool_progress',
  'state_delta',
  'state_snapshot',
]

const OPTIONS: NonNullable<PermissionAsked['options']> = [
  { reply: 'once', label: 'Allow' },
  { reply: 'reject', label: 'Reject' },
]

/** Presses that nobody reads: then the oldest go. */
const MAX_PRESSES = 1_000

/** Which turn the code belongs to that runs just now. */
const turns = new AsyncLocalStorage<Prompt>()

export class AgentSession extends Speaker implements AsyncIterable<Prompt> {
  readonly id: string
  readonly epoch: number
  readonly opening: Opening
  /** The document that everybody shares. */
  readonly state: AgentState
  readonly #voice: Voice
  readonly #handlers: Handlers
  readonly #asks: Asks
  readonly #prompts = new Queue<Prompt>()
  readonly #presses = new Queue<Press>(MAX_PRESSES)
  readonly #gone = new AbortController()
  #current: Prompt | undefined
  /** How many turns have begun. */
  #begun = 0
  #isSpeakable = true

  constructor(how: { id: string; epoch: number; opening: Opening; state: unknown; voice: Voice; handlers: Handlers }) {
    super()
    this.id = how.id
    this.epoch = how.epoch
    this.opening = how.opening
    this.#voice = how.voice
    this.#handlers = how.handlers
    this.#asks = new Asks((type, data) => this.#say(type, data, this.#turn()))
    const patchState = (patch: PatchOperation[]) => {
      const taken = this.emit('state_delta', { patch, by: how.handlers.name })
      return { taken, written: this.#voice.committed() }
    }
    this.state = new AgentState(how.state, patchState, (error) => this.#report('handler', messageOf(error), error))
  }

  /** Aborted with a `SessionGone` when the session is closed, or somebody else has it. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** The turn that is open. */
  get prompt(): Prompt | undefined {
    return this.#current?.isOver ? undefined : this.#current
  }

  /** One turn after the other. Asking for the next one ends the last. */
  [Symbol.asyncIterator](): AsyncIterator<Prompt, undefined> {
    return {
      next: async () => {
        await this.#current?.end()
        const prompt = await this.#next()
        return prompt ? { done: false, value: prompt } : { done: true, value: undefined }
      },
      // Leaving the loop ends no turn: the function may have thrown, and then it has failed.
      return: () => Promise.resolve({ done: true, value: undefined }),
    }
  }

  async emit<T extends SaidType>(type: T, data: SaidData<T>, options: SayOptions = {}): Promise<void> {
    const prompt = this.#turn()
    prompt?.signal.throwIfAborted()
    if (!BESIDE.includes(type)) this.endBlock()
    await this.#say(type, data as Fields, prompt, options.subagentId)
  }

  /** Resolves when the daemon has written down everything that was said so far. */
  committed(): Promise<void> {
    return this.#voice.committed()
  }

  /** Shows a component and waits until a person has answered it: gives the value. `Withdrawn` when the turn ends before. */
  async waitFor(name: string, props: Props, options: WaitOptions = {}): Promise<unknown> {
    const { surface = 'chat', componentId, actions, title, valueSchema, ...rest } = options
    const interrupt: Fields = {
      component_name: name,
      props,
      surface,
      ...(componentId !== undefined && { component_id: componentId }),
      ...(actions && { actions }),
      ...(title !== undefined && { title }),
      ...(valueSchema && { value_schema: valueSchema }),
    }
    return read.fieldsOf(await this.#ask({ interrupt }, rest))['value']
  }

  /** Asks questions: a list of answers for each, or nothing when the person does not want to answer. */
  async question(
    questions: EventOf<'question_request'>['data']['questions'],
    options: AskOptions & { title?: string } = {},
  ): Promise<string[][] | undefined> {
    const { title, ...rest } = options
    const answer = await this.#ask({ question: { questions, ...(title !== undefined && { title }) } }, rest)
    const answers = read.fieldsOf(answer)['answers']
    if (!Array.isArray(answers)) return undefined
    return answers.map((list) => read.listOf(list).filter((text) => typeof text === 'string'))
  }

  /** Asks whether something may be done. */
  async permission(asked: PermissionAsked, options: AskOptions = {}): Promise<PermissionGiven> {
    const permission: Fields = {
      tool_name: asked.toolName,
      tool_input: asked.toolInput,
      options: asked.options ?? OPTIONS,
      ...(asked.toolUseId !== undefined && { tool_use_id: asked.toolUseId }),
      ...(asked.title !== undefined && { title: asked.title }),
    }
    const answer = read.fieldsOf(await this.#ask({ permission }, options))
    // What is no clear yes is a no.
    const reply = answer['reply'] === 'once' || answer['reply'] === 'always' ? answer['reply'] : 'reject'
    return { ...answer, reply }
  }

  /** Calls one of the tools that clients run (`opening.client_tools`): gives its output, or throws what the client says went wrong. */
  async callTool(name: string, input: Props, options: AskOptions = {}): Promise<unknown> {
    const tool_use_id = newId()
    await this.emit('tool_start', { tool_use_id, tool: name, input, client_tool: true })
    const interrupt = { component_name: name, props: input, surface: 'chat', tool_use_id }
    const { output, is_error } = read.fieldsOf(await this.#ask({ interrupt }, options))
    const text = typeof output === 'string' ? output : JSON.stringify(output ?? null)
    await this.emit('tool_result', { tool_use_id, output: text, is_error: is_error === true })
    if (is_error === true) throw new Error(text)
    return output
  }

  /** What people do in components, when no function was given for it (`agent.onCallback`). Ends with the session. */
  async *callbacks(): AsyncGenerator<Press, void, undefined> {
    for (let press = await this.#presses.take(); press; press = await this.#presses.take()) yield press
  }

  /** Begins a turn that nobody asked for. */
  async startTurn(): Promise<Prompt> {
    if (this.prompt) throw new Error('a turn is open already')
    const turn = newId()
    await this.#say('turn_started', { origin: 'agent', turn }, undefined)
    const prompt = this.#makePrompt(turn, [])
    this.#begin(prompt)
    return prompt
  }

  /** Where the conversation stands now, in the agent's own words: a rollback names it again. */
  anchor(anchor: string): Promise<void> {
    return this.#say('anchor', { anchor }, this.#turn())
  }

  /** The agent calls the conversation something else from now on. */
  rename(providerSessionId: string, reason: string): Promise<void> {
    return this.#say('renamed', { provider_session_id: providerSessionId, reason }, undefined)
  }

  /** There is nothing more to be had from this session. */
  async end(reason: 'completed' | 'error' | 'terminated' = 'completed', message?: string): Promise<void> {
    await this.prompt?.end()
    await this.#say('session_ended', { reason, ...(message !== undefined && { message }) }, undefined)
  }

  // What follows is for the agent that has the session.

  /** Says that it is there, and then serves turns until the session is gone. */
  async serve(): Promise<void> {
    try {
      const ready = await this.#handlers.open(this)
      await this.#say('ready', { ...ready }, undefined)
    } catch (error) {
      if (error instanceof SessionGone) return
      this.#report('handler', `the session did not start: ${messageOf(error)}`, error)
      const { message, code } = failureOf(error)
      await this.#say('start_failed', { message, code }, undefined).catch(() => undefined)
      return
    }
    while (!this.signal.aborted) {
      const hadPrompt = this.#prompts.length > 0
      const begun = this.#begun
      await this.#work()
      // A function that returns without looking at what is there would be called for ever.
      if (hadPrompt && begun === this.#begun)
        await (await this.#next())?.fail(new Error('the agent does not take messages'))
      await this.#prompts.ready()
    }
  }

  /** One order of the daemon. */
  take(order: Fields): void {
    switch (order['type']) {
      case 'prompt':
        return this.#takePrompt(order)
      case 'steer':
        return this.#background(() => this.#takeSteer(order))
      case 'interrupt':
        return this.#interrupt(order)
      case 'answer':
        return this.#asks.settle(read.textOf(order['key']) ?? '', order)
      case 'callback':
        return this.#takePress(order)
      case 'state':
        return this.state.take(order['state'], read.textOf(order['by']) ?? '', read.readPatch(order['patch']))
      case 'compact':
        return this.#takeCompact(order)
      case 'rollback':
        return this.#background(() => this.#takeRollback(order))
      case 'set_model':
        return this.#background(async () => this.#handlers.setModel?.(this, read.textOf(order['model']) ?? ''))
      case 'set_mode':
        return this.#background(async () => this.#handlers.setMode?.(this, read.textOf(order['mode']) ?? ''))
      case 'configure':
        return this.#background(async () => this.#handlers.configure?.(this, read.fieldsOf(order['settings'])))
    }
  }

  /** Nothing more is asked. What runs is stopped, and may still end its turn. */
  stop(reason: string): void {
    this.#leave(new SessionGone(`the session is closed: ${reason}`))
  }

  /** The last word. */
  async sayClosed(): Promise<void> {
    await this.#say('closed', {}, undefined).catch(() => undefined)
    this.#isSpeakable = false
  }

  /** It is somebody else's now; not a word more. */
  drop(reason: string): void {
    this.#isSpeakable = false
    this.#leave(new SessionGone(reason))
  }

  #leave(reason: SessionGone): void {
    if (this.signal.aborted) return
    this.#gone.abort(reason)
    this.#current?.stop(reason)
    this.#asks.withdrawAll(reason)
    this.#prompts.close()
    this.#presses.close()
  }

  /** The function of the agent, until it returns or throws. */
  async #work(): Promise<void> {
    const { turn, session } = this.#handlers
    if (turn) {
      const prompt = await this.#next()
      return prompt?.run(() => turn(this, prompt))
    }
    try {
      await session?.(this)
      await this.prompt?.end()
    } catch (error) {
      if (this.prompt) await this.prompt.fail(error)
      else if (!(error instanceof Stopped)) this.#report('handler', messageOf(error), error)
    }
  }

  /** The next turn. One that was stopped before it began is over. */
  async #next(): Promise<Prompt | undefined> {
    for (;;) {
      const prompt = await this.#prompts.take()
      if (!prompt) return undefined
      this.#begin(prompt)
      if (!prompt.signal.aborted) return prompt
      await prompt.end()
    }
  }

  #begin(prompt: Prompt): void {
    this.endBlock()
    this.#begun += 1
    this.#current = prompt
  }

  #makePrompt(turnId: string, messages: read.PromptMessage[]): Prompt {
    return new Prompt(turnId, messages, {
      say: async (prompt, end: TurnEnd) => {
        this.#asks.withdrawAll(new Withdrawn('the turn is over'))
        await this.#say('turn_ended', { ...end }, undefined, undefined, prompt.turnId)
      },
      inside: (prompt, work) => turns.run(prompt, work),
      graceMs: this.#handlers.stopGraceMs,
    })
  }

  #takePrompt(order: Fields): void {
    const turnId = read.textOf(order['turn_id'])
    if (turnId === undefined) return this.#report('message', 'a prompt without a turn')
    const messages = read.listOf(order['messages']).map(read.readMessage)
    this.#prompts.put(
      this.#makePrompt(
        turnId,
        messages.filter((message) => message !== undefined),
      ),
    )
  }

  async #takeSteer(order: Fields): Promise<void> {
    const message = read.readMessage(order['message'])
    if (!message) return this.#report('message', 'a steer without a message')
    const { message_id } = message
    const prompt = this.#find(order['turn_id'])
    const refuse = (reason: string) =>
      this.#say('steer_rejected', { message_id, reason }, undefined, undefined, prompt?.turnId)
    if (!prompt) return refuse('the turn is over')
    try {
      // One that has not begun yet begins with it.
      if (this.#handlers.steer && prompt === this.prompt)
        await turns.run(prompt, async () => this.#handlers.steer?.(this, message))
      else prompt.more.push(message)
    } catch (error) {
      return refuse(messageOf(error))
    }
    await this.#say('steer_delivered', { message_id }, undefined, undefined, prompt.turnId)
  }

  #interrupt(order: Fields): void {
    const reason = new Stopped(read.textOf(order['reason']) || 'the turn was stopped')
    const turnId = order['turn_id']
    const prompt = turnId === undefined ? this.prompt : this.#find(turnId)
    prompt?.stop(reason)
  }

  /** A turn that runs, or that has not begun yet. */
  #find(turnId: unknown): Prompt | undefined {
    const open = this.prompt
    return open?.turnId === turnId ? open : this.#prompts.items.find((waiting) => waiting.turnId === turnId)
  }

  #takePress(order: Fields): void {
    const press = read.readPress(order)
    if (!press) return this.#report('message', 'a callback without a component or an action')
    const handler = this.#handlers.callbacks.get(press.action) ?? this.#handlers.callbacks.get('*')
    if (handler) this.#background(async () => handler(this, press))
    else this.#presses.put(press)
  }

  #takeCompact(order: Fields): void {
    const turnId = read.textOf(order['turn_id'])
    if (turnId === undefined) return this.#report('message', 'compact without a turn')
    const { compact } = this.#handlers
    const prompt = this.#makePrompt(turnId, [])
    this.#begin(prompt)
    this.#background(() =>
      prompt.run(() => {
        if (!compact) throw new Error('this agent cannot compact its conversation')
        return compact(this)
      }),
    )
  }

  async #takeRollback(order: Fields): Promise<void> {
    const { rollback } = this.#handlers
    try {
      if (!rollback) throw new Error('this agent cannot go back')
      const { filesRestored = false, branched = false } = (await rollback(this, read.readRollback(order))) ?? {}
      await this.#say('rolled_back', { files_restored: filesRestored, branched }, undefined)
    } catch (error) {
      await this.#say('rollback_refused', { reason: messageOf(error) }, undefined)
    }
  }

  /** The turn that whoever speaks belongs to. Who speaks for a turn that is over speaks into the void. */
  #turn(): Prompt | undefined {
    const own = turns.getStore()
    if (own?.isOver) throw own.signal.aborted ? (own.signal.reason as Error) : new Stopped('the turn is over')
    return own ?? this.prompt
  }

  #ask(request: Fields, options: AskOptions): Promise<unknown> {
    const prompt = this.#turn()
    prompt?.signal.throwIfAborted()
    this.endBlock()
    return this.#asks.ask(request, prompt?.signal ?? this.signal, options)
  }

  async #say(
    type: string,
    data: Fields,
    prompt: Prompt | undefined,
    subagent?: string,
    turnId = prompt?.turnId,
  ): Promise<void> {
    if (!this.#isSpeakable) throw (this.signal.reason as Error | undefined) ?? new SessionGone('the session is gone')
    await this.#voice.say({
      type,
      session_id: this.id,
      ...(turnId !== undefined && { turn_id: turnId }),
      ...(subagent !== undefined && { subagent_id: subagent }),
      data,
    })
  }

  /** Does something that nobody waits for. */
  #background(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => {
      if (!(error instanceof Stopped)) this.#report('handler', messageOf(error), error)
    })
  }

  #report(kind: AgentProblem['kind'], message: string, error?: unknown): void {
    this.#handlers.onProblem({ kind, message, sessionId: this.id, ...(error !== undefined && { error }) })
  }
}
