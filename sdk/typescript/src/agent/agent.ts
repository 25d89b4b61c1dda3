// An agent of your own: the functions that make it, and the sessions that it has. Not here: the wire, which is a WebSocket (`line.ts`) or a pipe
// (`stdio.ts`).

import type { Reconnect } from '../follow.js'
import { messageOf, type AgentProblem } from './errors.js'
import type { Handlers, Ready, RolledBack, Settings } from './handlers.js'
import { Line } from './line.js'
import {
  numberOf,
  readOpening,
  textOf,
  type Fields,
  type Press,
  type PromptMessage,
  type RollbackOrder,
} from './messages.js'
import type { Voice } from './outbox.js'
import type { Prompt } from './prompt.js'
import { AgentSession } from './session.js'
import { runStdio, type Pipes } from './stdio.js'

export type Capability =
  'steer' | 'resume' | 'fork' | 'rollback' | 'compact' | 'components' | 'state' | 'questions' | 'usage' | 'client_tools'

export interface AgentOptions {
  /** Where the daemon is; `TURNLOOM_URL` or `http://127.0.0.1:7171` if absent. */
  url?: string
  /** A token with the scope `agent:NAME`; `TURNLOOM_TOKEN` if absent. */
  token?: string
  capabilities?: readonly (Capability | (string & {}))[]
  title?: string
  version?: string
  modes?: string[]
  models?: { id: string; name: string }[]
  commands?: { name: string; description?: string }[]
  maxSessions?: number
  reconnect?: Pick<Reconnect, 'firstDelay' | 'longestDelay'>
  /** A function that does not heed a stop is waited for so long; then its turn ends without it. 3,000 ms if absent. */
  stopGraceMs?: number
  /** Told what goes wrong and nobody waits for; written to stderr if absent. */
  onProblem?: (problem: AgentProblem) => void
}

export interface RunOptions {
  /** Ends the agent, as `close` does. */
  signal?: AbortSignal
  /** The daemon has started this program: talk on stdin and stdout. */
  stdio?: boolean | Pipes
  /** Told when the daemon has agreed to a connection. */
  onConnected?: () => void
}

const STOP_GRACE_MS = 3_000

type Result = unknown

export class Agent {
  readonly name: string
  readonly #options: AgentOptions
  readonly #handlers: Handlers
  readonly #sessions = new Map<string, { session: AgentSession; serving: Promise<void> }>()
  readonly #closing = new AbortController()
  #open: ((session: AgentSession) => Ready | Promise<Ready>) | undefined

  constructor(name: string, options: AgentOptions = {}) {
    this.name = name
    this.#options = options
    this.#handlers = {
      name,
      stopGraceMs: options.stopGraceMs ?? STOP_GRACE_MS,
      onProblem: (problem) => this.#report(problem),
      open: async (session) => (await this.#open?.(session)) ?? unremembering(session),
      callbacks: new Map(),
    }
  }

  /** One function for a whole session: `for await (const prompt of session)`. After it has ended, it is called again for the next prompt. */
  onSession(work: (session: AgentSession) => Result): this {
    this.#handlers.session = work
    this.#handlers.turn = undefined
    return this
  }

  /** Or one function for each turn, which ends with it. */
  onTurn(work: (session: AgentSession, prompt: Prompt) => Result): this {
    this.#handlers.turn = work
    this.#handlers.session = undefined
    return this
  }

  /** Before a session is ready: for agents that find a conversation again. What it throws keeps the session from starting. */
  onOpen(open: (session: AgentSession) => Ready | Promise<Ready>): this {
    this.#open = open
    return this
  }

  /** What people do in components, by the name of the action; `*` is for all others. */
  onCallback(action: string, work: (session: AgentSession, press: Press) => Result): this {
    this.#handlers.callbacks.set(action, work)
    return this
  }

  /** A message for the turn that runs. Without this it is in `prompt.more`. Throw to refuse it: then it waits for the next turn. */
  onSteer(work: (session: AgentSession, message: PromptMessage) => Result): this {
    this.#handlers.steer = work
    return this
  }

  onCompact(work: (session: AgentSession) => Result): this {
    this.#handlers.compact = work
    return this
  }

  /** Forgets turns. Throw to refuse it. */
  onRollback(
    work: (session: AgentSession, order: RollbackOrder) => RolledBack | undefined | Promise<RolledBack | undefined>,
  ): this {
    this.#handlers.rollback = work
    return this
  }

  onModel(work: (session: AgentSession, model: string) => Result): this {
    this.#handlers.setModel = work
    return this
  }

  onMode(work: (session: AgentSession, mode: string) => Result): this {
    this.#handlers.setMode = work
    return this
  }

  onSettings(work: (session: AgentSession, settings: Settings) => Result): this {
    this.#handlers.configure = work
    return this
  }

  /** The sessions that it has now. */
  get sessions(): AgentSession[] {
    return Array.from(this.#sessions.values(), ({ session }) => session)
  }

  /** Works until it is closed, or the daemon does not want it: then it is rejected with a `TurnloomError`. A lost connection comes back by itself. */
  async run({ signal, stdio = false, onConnected }: RunOptions = {}): Promise<void> {
    if (!this.#handlers.session && !this.#handlers.turn)
      throw new TypeError('give the agent a function: onTurn or onSession')
    const ending = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal
    const host = {
      open: (order: Fields, makeVoice: (session: Fields) => Voice) => this.#openSession(order, makeVoice),
      take: (order: Fields) => this.#take(order),
      drop: (id: string, reason: string) => this.#drop(id, reason),
      turnOf: (id: string) => this.#sessions.get(id)?.session.prompt?.turnId,
      problem: (problem: AgentProblem) => this.#report(problem),
    }
    try {
      if (stdio) return await runStdio(host, stdio === true ? undefined : stdio, ending)
      const goodbye = new AbortController()
      const leave = () => void this.#stopAll().then(() => goodbye.abort())
      ending.addEventListener('abort', leave, { once: true })
      if (ending.aborted) leave()
      const line = new Line(host, this.#hello(), { ...this.#address(), ...this.#options.reconnect }, onConnected)
      await line.run(goodbye.signal)
    } finally {
      for (const { session } of this.#sessions.values()) session.drop('the agent has ended')
      this.#sessions.clear()
    }
  }

  /** Says goodbye; `run` then resolves. Turns that run are stopped. */
  close(): void {
    this.#closing.abort()
  }

  #address(): { url: string; token: string | undefined } {
    return {
      url: this.#options.url ?? process.env['TURNLOOM_URL'] ?? 'http://127.0.0.1:7171',
      token: this.#options.token ?? process.env['TURNLOOM_TOKEN'],
    }
  }

  #hello(): Fields {
    const { title, version, modes, models, commands, maxSessions, capabilities = [] } = this.#options
    return {
      agent: this.name,
      capabilities: Object.fromEntries(capabilities.map((name) => [name, true])),
      ...(title !== undefined && { title }),
      ...(version !== undefined && { version }),
      ...(modes && { modes }),
      ...(models && { models }),
      ...(commands && { commands }),
      ...(maxSessions !== undefined && { max_sessions: maxSessions }),
    }
  }

  #openSession(order: Fields, makeVoice: (order: Fields) => Voice): void {
    const id = textOf(order['session_id'])
    if (id === undefined) return this.#report({ kind: 'message', message: 'an opening without a session' })
    const epoch = numberOf(order['epoch']) ?? 0
    const known = this.#sessions.get(id)
    if (known && known.session.epoch >= epoch) return
    known?.session.drop('the session was opened again')
    const session = new AgentSession({
      id,
      epoch,
      opening: readOpening(order['opening']),
      state: order['state'],
      voice: makeVoice(order),
      handlers: this.#handlers,
    })
    const serving = session.serve().catch((error: unknown) => {
      this.#report({ kind: 'handler', message: messageOf(error), sessionId: id, error })
    })
    this.#sessions.set(id, { session, serving })
  }

  /** An order for a session that is open. */
  #take(order: Fields): Promise<void> | undefined {
    const id = textOf(order['session_id']) ?? ''
    const known = this.#sessions.get(id)
    if (!known) return undefined
    if (order['type'] === 'close') return this.#closeSession(id, textOf(order['reason']) ?? 'ended')
    try {
      known.session.take(order)
    } catch (error) {
      this.#report({ kind: 'message', message: messageOf(error), sessionId: id, error })
    }
    return undefined
  }

  async #closeSession(id: string, reason: string): Promise<void> {
    const known = this.#sessions.get(id)
    if (!known) return
    known.session.stop(reason)
    await this.#inTime(known.serving)
    await known.session.sayClosed()
    if (this.#sessions.get(id) === known) this.#sessions.delete(id)
  }

  /** Ends the turns that run, and waits a moment until the daemon knows. */
  async #stopAll(): Promise<void> {
    const stopped = Array.from(this.#sessions.values(), async ({ session, serving }) => {
      session.stop('the agent ends')
      await serving
      await session.committed()
    })
    await this.#inTime(Promise.allSettled(stopped))
  }

  /** Waits for functions of the agent, but not for ever. */
  async #inTime(work: Promise<unknown>): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, this.#handlers.stopGraceMs)))
    await Promise.race([work, patience])
    clearTimeout(timer)
  }

  #drop(id: string, reason: string): void {
    this.#sessions.get(id)?.session.drop(reason)
    this.#sessions.delete(id)
  }

  #report(problem: AgentProblem): void {
    const tell = this.#options.onProblem ?? ((problem) => console.error(`turnloom: ${problem.message}`))
    try {
      tell(problem)
    } catch (error) {
      console.error('turnloom: onProblem threw', error)
    }
  }
}

/** An agent that keeps nothing says so: then a session that is found again begins anew, and people are told. */
function unremembering({ opening }: AgentSession): Ready {
  if (opening.beginning.kind === 'fresh') return { resumed: false }
  return { resumed: false, reason: 'this agent does not keep conversations' }
}
