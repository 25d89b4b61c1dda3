// The WebSocket of an agent, over as many connections as it takes: hello and welcome, numbers both ways, heartbeats, coming back. Not here: what
// sessions do with their orders.

import { TurnloomError } from '../error.js'
import { pause, type Reconnect } from '../follow.js'
import { newId } from '../id.js'
import type { AgentProblem } from './errors.js'
import { fieldsOf, listOf, numberOf, parse, textOf, type Fields } from './messages.js'
import { DEFAULT_WINDOW, Outbox, type Voice, type Window } from './outbox.js'
import { AgentSocket } from './websocket.js'

/** Who has the sessions. */
export interface Host {
  open(order: Fields, makeVoice: (order: Fields) => Voice): void
  /** A promise when the session is being closed. */
  take(order: Fields): Promise<void> | undefined
  drop(id: string, reason: string): void
  /** The turn that is open in a session. */
  turnOf(id: string): string | undefined
  problem(problem: AgentProblem): void
}

const PROTOCOL = 1
const SDK = 'turnloom-ts/0.0.0'
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** What the daemon says may be a little larger than what it takes: it wraps what others said. */
const LIMIT_BYTES = 32 * 1024 * 1024
const HEARTBEAT_MS = 15_000
/** So many heartbeats that did not come make a dead connection. */
const MISSED = 3
/** The daemon is told at least after so many orders that they were heard, and after so many milliseconds. */
const HEARD_EVERY = 32
const HEARD_MS = 500
const WELCOME_MS = 15_000
const GOODBYE = 1000
/** Not wanted: trying again would not help. `window` is a mistake of ours, and sending again mends it. */
const REFUSED = 1008

/** A session as the connection knows it. */
interface Numbered {
  epoch: number
  outbox: Outbox
  heard: number
  /** What the daemon was told that we heard. */
  told: number
}

export class Line {
  readonly #host: Host
  readonly #hello: Fields
  readonly #options: { url: string; token: string | undefined } & Pick<Reconnect, 'firstDelay' | 'longestDelay'>
  readonly #onConnected: (() => void) | undefined
  readonly #instance = newId()
  readonly #sessions = new Map<string, Numbered>()
  #socket: AgentSocket | undefined
  #welcomed = false
  #window: Window = DEFAULT_WINDOW
  #largest = MAX_MESSAGE_BYTES
  #heardTimer: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #silenceMs = WELCOME_MS

  constructor(
    host: Host,
    hello: Fields,
    options: { url: string; token: string | undefined } & Pick<Reconnect, 'firstDelay' | 'longestDelay'>,
    onConnected: (() => void) | undefined,
  ) {
    this.#host = host
    this.#hello = hello
    this.#options = options
    this.#onConnected = onConnected
  }

  /** Resolves when the signal is aborted; rejected when the daemon does not want this agent. */
  async run(signal: AbortSignal): Promise<void> {
    const { firstDelay = 250, longestDelay = 15_000 } = this.#options
    let attempt = 0
    while (!signal.aborted) {
      try {
        const { code, reason } = await this.#connect(signal)
        if (signal.aborted) break
        if (code === REFUSED && reason !== 'window') throw refusal(reason)
        this.#host.problem({
          kind: 'connection',
          message: `the connection was lost (${code}${reason && ` ${reason}`})`,
        })
      } catch (error) {
        if (signal.aborted) break
        if (!(error instanceof TurnloomError) || !error.isTransient) throw error
        this.#host.problem({ kind: 'connection', message: error.message, error })
      } finally {
        // Who was let in begins anew; who was not waits longer each time.
        attempt = this.#welcomed ? 1 : attempt + 1
        this.#lost()
      }
      const longest = Math.min(longestDelay, firstDelay * 2 ** (attempt - 1))
      await pause(longest * (0.5 + Math.random() / 2), signal).catch(() => undefined)
    }
    for (const { outbox } of this.#sessions.values()) outbox.close(new Error('the agent has ended'))
  }

  /** One connection, to its end. */
  async #connect(signal: AbortSignal): Promise<{ code: number; reason: string }> {
    const { token, url } = this.#options
    const address = new URL(`${url.replace(/\/+$/, '')}/api/agents/connect`)
    const headers = { 'user-agent': SDK, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    let socket: AgentSocket | undefined
    const leave = () => socket?.close(GOODBYE, 'bye')
    try {
      return await new Promise((resolve, reject) => {
        const listener = {
          onText: (text: string) => this.#take(text),
          onClose: (code: number, reason: string) => resolve({ code, reason }),
        }
        AgentSocket.open(address, headers, LIMIT_BYTES, listener, signal).then((opened) => {
          socket = this.#socket = opened
          signal.addEventListener('abort', leave, { once: true })
          this.#silenceMs = WELCOME_MS
          this.#listen()
          this.#send({
            type: 'hello',
            protocol: PROTOCOL,
            instance: this.#instance,
            sdk: SDK,
            ...this.#hello,
            sessions: this.#known(),
          })
          if (signal.aborted) leave()
        }, reject)
      })
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #known(): Fields[] {
    return Array.from(this.#sessions, ([session_id, { epoch, heard, outbox }]) => {
      const turn_id = this.#host.turnOf(session_id)
      return { session_id, epoch, heard, said: outbox.said, ...(turn_id !== undefined && { turn_id }) }
    })
  }

  #take(text: string): void {
    this.#listen()
    const message = parse(text)
    if (!message) return this.#host.problem({ kind: 'message', message: 'a frame of the daemon is no message' })
    if (message['type'] === 'ping') return this.#send({ type: 'pong', t: message['t'] })
    if (message['type'] === 'welcome') return this.#welcome(message)
    if (!this.#welcomed) return
    const id = textOf(message['session_id'])
    if (id === undefined) return
    if (message['type'] === 'open') return this.#open(id, message)
    const session = this.#sessions.get(id)
    if (!session) return
    switch (message['type']) {
      case 'ack':
        return session.outbox.acknowledge(numberOf(message['n']) ?? 0)
      case 'gone':
        return this.#drop(id, textOf(message['reason']) ?? 'it is gone')
      case 'refused':
        return this.#host.problem({
          kind: 'refused',
          sessionId: id,
          message: `the daemon did not take message ${String(message['n'])}: ${describe(message['error'])}`,
        })
      case 'close':
      case 'rollback':
        return this.#order(id, session, message)
      default:
        return this.#numbered(id, session, message)
    }
  }

  /** An order with its number: each is taken once, and none is left out. */
  #numbered(id: string, session: Numbered, order: Fields): void {
    const o = numberOf(order['o'])
    // Something newer than this program.
    if (o === undefined || o <= session.heard) return
    if (o > session.heard + 1) {
      this.#host.problem({ kind: 'message', sessionId: id, message: `order ${session.heard + 1} is missing` })
      // The daemon says it again to whoever comes back.
      return this.#socket?.giveUp()
    }
    session.heard = o
    if (session.heard - session.told >= HEARD_EVERY) this.#sayHeard()
    else this.#heardTimer ??= setTimeout(() => this.#sayHeard(), HEARD_MS)
    this.#order(id, session, order)
  }

  #order(id: string, session: Numbered, order: Fields): void {
    const closing = this.#host.take(order)
    void closing
      ?.then(() => session.outbox.committed())
      .catch(() => undefined)
      .then(() => this.#forget(id, session))
  }

  #sayHeard(): void {
    clearTimeout(this.#heardTimer)
    this.#heardTimer = undefined
    if (!this.#welcomed) return
    for (const [session_id, session] of this.#sessions) {
      if (session.told === session.heard) continue
      session.told = session.heard
      this.#send({ type: 'heard', session_id, o: session.heard })
    }
  }

  #welcome(message: Fields): void {
    if (this.#welcomed) return
    this.#welcomed = true
    const window = fieldsOf(message['window'])
    this.#window = {
      messages: numberOf(window['messages']) || DEFAULT_WINDOW.messages,
      bytes: numberOf(window['bytes']) || DEFAULT_WINDOW.bytes,
    }
    this.#largest = numberOf(message['max_message_bytes']) || MAX_MESSAGE_BYTES
    this.#silenceMs = (numberOf(message['heartbeat_ms']) || HEARTBEAT_MS) * MISSED
    this.#listen()
    const answers = new Map(
      listOf(message['sessions']).map((entry) => [fieldsOf(entry)['session_id'], fieldsOf(entry)]),
    )
    for (const [id, session] of this.#sessions) {
      const answer = answers.get(id)
      if (answer?.['state'] === 'yours') this.#attach(session, numberOf(answer['said']) ?? 0)
      else this.#drop(id, textOf(answer?.['reason']) ?? 'the daemon does not know it')
    }
    this.#onConnected?.()
  }

  #attach({ outbox }: Numbered, said: number): void {
    outbox.attach((line) => this.#socket?.send(line), said, this.#window, this.#largest)
  }

  #open(id: string, order: Fields): void {
    const epoch = numberOf(order['epoch']) ?? 0
    const known = this.#sessions.get(id)
    if (known && known.epoch >= epoch) return
    known?.outbox.close(new Error('the session was opened again'))
    const session: Numbered = { epoch, outbox: new Outbox(), heard: 0, told: 0 }
    this.#sessions.set(id, session)
    this.#attach(session, 0)
    this.#host.open(order, () => session.outbox)
  }

  #drop(id: string, reason: string): void {
    const session = this.#sessions.get(id)
    this.#sessions.delete(id)
    this.#host.drop(id, reason)
    session?.outbox.close(new Error(reason))
  }

  /** Its last word is written down. */
  #forget(id: string, session: Numbered): void {
    if (this.#sessions.get(id) === session) this.#sessions.delete(id)
  }

  #send(message: Fields): void {
    this.#socket?.send(JSON.stringify(message))
  }

  /** Something came: the connection lives. */
  #listen(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#socket?.giveUp(), this.#silenceMs)
  }

  #lost(): void {
    clearTimeout(this.#silence)
    clearTimeout(this.#heardTimer)
    this.#heardTimer = undefined
    this.#socket = undefined
    this.#welcomed = false
    for (const session of this.#sessions.values()) {
      session.outbox.detach()
      session.told = session.heard
    }
  }
}

const refusal = (reason: string) =>
  new TurnloomError(0, {
    code: reason || 'unauthorized',
    detail: `the daemon does not want this agent (${reason || 'it did not say why'})`,
  })

function describe(error: unknown): string {
  if (typeof error === 'string') return error
  const { message, detail, code } = fieldsOf(error)
  return String(message ?? detail ?? code ?? 'it did not say why')
}
