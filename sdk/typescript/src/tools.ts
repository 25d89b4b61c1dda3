// Tools that a program runs when an agent calls them: they are registered, and then calls are answered by themselves. Whatever happens to the
// connection, a call that waits is found again. Not here: one call, which is `giveToolResult`.

import type { Turnloom } from './client.js'
import { TurnloomError } from './error.js'
import { pause } from './follow.js'
import { isObject } from './patch.js'
import type { Ask, ClientTool, ToolResult } from './types.js'

export interface ToolCallContext {
  sessionId: string
  toolUseId: string
  /** Aborted when nobody waits for the result any more: the turn was stopped, or another client was first. */
  signal: AbortSignal
}

/** Runs a call. What it gives is the result, as JSON; what it throws is an error result. */
export type ToolHandler = (input: Record<string, unknown>, call: ToolCallContext) => unknown

export interface RegisterToolOptions {
  /** For the model: what it does and when to use it. */
  description?: string
  /** Takes the tool back, at once and also while it is being registered. */
  signal?: AbortSignal
  /** Told when the calls cannot be followed any more: trying again would not help. */
  onError?: (error: TurnloomError) => void
}

/** Between attempts to hand in a result. */
const FIRST_DELAY = 250
const LONGEST_DELAY = 15_000

/** The tools of one program in one session. */
export class SessionTools {
  readonly #turnloom: Turnloom
  readonly #session: string
  readonly #tools = new Map<string, { tool: ClientTool; run: ToolHandler }>()
  /** The calls that run here. */
  readonly #calls = new Map<string, AbortController>()
  #following: AbortController | undefined
  #change: Promise<unknown> = Promise.resolve()
  /** What the session offers, as its log says up to this position. */
  #offered: ClientTool[] = []
  #position = 0
  #onError: ((error: TurnloomError) => void) | undefined

  constructor(turnloom: Turnloom, session: string) {
    this.#turnloom = turnloom
    this.#session = session
  }

  /**
   * Offers a tool to the agent of the session and answers its calls. `schema` is the JSON Schema of its input. Gives a function that takes it back.
   * What other programs have registered stays; tools that the session was created with are replaced.
   * The first result of a call counts. Pages of one browser run it once; other programs that offer the same tool run it too.
   */
  async registerTool(
    name: string,
    schema: Record<string, unknown> | undefined,
    run: ToolHandler,
    { description, signal, onError }: RegisterToolOptions = {},
  ): Promise<() => Promise<void>> {
    signal?.throwIfAborted()
    if (this.#tools.has(name)) throw new TypeError(`${name} is registered already`)
    const tool: ClientTool = {
      name,
      ...(description !== undefined && { description }),
      ...(schema && { input_schema: schema }),
    }
    const entry = { tool, run }
    this.#tools.set(name, entry)
    this.#onError = onError ?? this.#onError
    const unregister = async () => {
      if (this.#tools.get(name) !== entry) return
      this.#tools.delete(name)
      if (this.#tools.size === 0) this.#rest()
      // Somebody may have registered another one under the name meanwhile.
      await this.#tell((tools) => tools.filter((other) => other.name !== name || this.#tools.has(name)))
    }
    signal?.addEventListener('abort', () => void unregister().catch(() => undefined), { once: true })
    try {
      await this.#tell((tools) => [...tools.filter((other) => other.name !== name), tool])
    } catch (error) {
      if (this.#tools.get(name) === entry) this.#tools.delete(name)
      throw error
    }
    if (this.#tools.size > 0) this.#follow()
    return unregister
  }

  /** Answers no more calls. The agent is not told: another program may have the same tools. */
  close(): void {
    this.#tools.clear()
    this.#rest()
  }

  /** Changes what the session offers, one change after the other. */
  #tell(change: (tools: ClientTool[]) => ClientTool[]): Promise<void> {
    const work = async () => {
      await this.#catchUp()
      const wanted = change(this.#offered)
      if (JSON.stringify(wanted) === JSON.stringify(this.#offered)) return
      await this.#turnloom.updateSession(this.#session, { settings: { client_tools: wanted } })
    }
    const done = this.#change.then(work, work)
    this.#change = done.catch(() => undefined)
    return done
  }

  /** Reads what the session offers: other programs may have tools of their own. */
  async #catchUp(): Promise<void> {
    for (let more = true; more;) {
      const query = { after: this.#position, types: ['session_updated'] as const }
      const page = await this.#turnloom.getEvents(this.#session, query)
      for (const { data } of page.events) {
        const settings: unknown = data.settings
        if (isObject(settings) && Array.isArray(settings['client_tools']))
          this.#offered = settings['client_tools'] as ClientTool[]
      }
      this.#position = page.next
      more = page.has_more
    }
  }

  #rest(): void {
    this.#following?.abort()
    this.#following = undefined
    for (const call of this.#calls.values()) call.abort(new Error('the tool was taken back'))
  }

  #follow(): void {
    if (this.#following) return
    const leave = (this.#following = new AbortController())
    const run = async () => {
      try {
        // Every connection begins with all that waits, so nothing has to be remembered.
        for await (const asks of this.#turnloom.streamAsks({ signal: leave.signal })) this.#look(asks)
      } catch (error) {
        if (leave.signal.aborted) return
        this.#following = undefined
        this.#onError?.(error as TurnloomError)
      }
    }
    void run()
  }

  #look(asks: Ask[]): void {
    const waiting = asks.flatMap((ask) => callOf(ask, this.#session) ?? [])
    const ids = new Set(waiting.map(({ toolUseId }) => toolUseId))
    for (const [id, call] of this.#calls) if (!ids.has(id)) call.abort(new Error('nobody waits for the result'))
    for (const call of waiting) {
      const tool = this.#tools.get(call.name)
      if (!tool || this.#calls.has(call.toolUseId)) continue
      const running = new AbortController()
      this.#calls.set(call.toolUseId, running)
      void this.#answer(call, tool.run, running.signal).finally(() => this.#calls.delete(call.toolUseId))
    }
  }

  async #answer({ toolUseId, input }: Call, run: ToolHandler, signal: AbortSignal): Promise<void> {
    try {
      await alone(`turnloom-tool-${this.#session}-${toolUseId}`, signal, async ({ hadToWait }) => {
        // Whoever had it before may have answered, and this page has not heard of it yet.
        if (signal.aborted || (hadToWait && !(await this.#isOpen(toolUseId)))) return
        const result = await resultOf(run, input, { sessionId: this.#session, toolUseId, signal })
        await this.#handIn(toolUseId, result, signal)
      })
    } catch {
      // Nobody waits any more.
    }
  }

  async #isOpen(toolUseId: string): Promise<boolean> {
    const asks = await this.#turnloom.listAsks()
    return asks.some((ask) => callOf(ask, this.#session)?.toolUseId === toolUseId)
  }

  /** Until the daemon has it, or somebody else was first. */
  async #handIn(toolUseId: string, result: ToolResult, signal: AbortSignal): Promise<void> {
    for (let delay = FIRST_DELAY; !signal.aborted; delay = Math.min(delay * 2, LONGEST_DELAY)) {
      try {
        await this.#turnloom.giveToolResult(this.#session, toolUseId, result, { signal })
        return
      } catch (error) {
        if (!(error instanceof TurnloomError)) throw error
        if (error.status === 413) result = failed('the result is too large')
        else if (!error.isTransient) return
        await pause(delay, signal)
      }
    }
  }
}

interface Call {
  name: string
  toolUseId: string
  input: Record<string, unknown>
}

/** The call of a client's tool that an ask is; most asks are none. */
function callOf({ session_id, kind, request }: Ask, session: string): Call | undefined {
  if (session_id !== session || kind !== 'interrupt' || !isObject(request)) return undefined
  const { component_name: name, tool_use_id: toolUseId, props } = request
  if (typeof name !== 'string' || typeof toolUseId !== 'string') return undefined
  return { name, toolUseId, input: isObject(props) ? props : {} }
}

async function resultOf(run: ToolHandler, input: Record<string, unknown>, call: ToolCallContext): Promise<ToolResult> {
  try {
    const value = await run(input, call)
    // What cannot be written down is a mistake of the tool, and the agent hears of it.
    const text = JSON.stringify(value)
    return { output: text === undefined ? null : (JSON.parse(text) as unknown) }
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error))
  }
}

const failed = (message: string): ToolResult => ({ output: message || 'the tool failed', is_error: true })

/** Pages of one browser do it one after the other; the later ones then find that it was done. */
async function alone(
  name: string,
  signal: AbortSignal,
  work: (turn: { hadToWait: boolean }) => Promise<void>,
): Promise<void> {
  const locks = typeof navigator === 'undefined' ? undefined : (navigator as { locks?: LockManager }).locks
  if (!locks) return work({ hadToWait: false })
  const isDone = await locks.request(name, { ifAvailable: true }, async (lock) => {
    if (lock) await work({ hadToWait: false })
    return lock !== null
  })
  if (!isDone) await locks.request(name, { signal }, () => work({ hadToWait: true }))
}
