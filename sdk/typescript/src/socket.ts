// All streams of a client over one WebSocket. A browser allows six connections for ordinary requests to a daemon, and streams would take them all.
// Not here: what is followed, and how a stream comes back when the socket was lost.

import { TurnloomError, UNREACHABLE, unreachable } from './error.js'
import type { Feed, StreamEvent } from './feed.js'
import { newId } from './id.js'

/** What the daemon says on a socket. */
export interface Incoming {
  op: string
  subscription?: string
  event?: { type: string; seq: number }
  name?: string
  position?: number
  data?: unknown
  head?: number
  problem?: TurnloomError['problem']
}

/** Something that carries ops to the daemon and what it says back: a WebSocket, or a worker that has one. */
export interface Channel {
  send(op: object): void
  close(): void
  /** It does not answer any more: nobody shall use it, whoever shares it. */
  giveUp(): void
}

export interface ChannelListener {
  onOpen(): void
  onMessage(message: Incoming): void
  /** It is over, or did not come about. */
  onClose(): void
}

/** Where a socket goes: the address, and the names that a browser can give instead of headers. */
export interface Address {
  url: string
  protocols: string[]
  /** It is no socket but a stream of server-sent events, to which ops are posted: each request has these headers. */
  headers?: Record<string, string>
}

export type Dial = (address: Address, listener: ChannelListener) => Channel

/** Frames on their way to one stream that does not read; the daemon waits then, with this stream alone. */
const WINDOW = 64

/** How long a socket that nobody uses stays open, because most come back at once. */
const IDLE_MS = 1_000

/** A handshake that takes longer has got stuck on the way: not everything that stands between knows what a WebSocket is. */
const HANDSHAKE_MS = 10_000

export interface SocketOptions {
  dial: Dial
  address: () => Promise<Address>
  /** Says why a socket could not be opened, which a browser does not: throws the error. */
  whyNot: () => Promise<never>
}

export class Socket {
  readonly #options: SocketOptions
  /** Pages may share a connection, and so their subscriptions must not have the same names. */
  readonly #name = newId()
  readonly #subscriptions = new Map<string, Subscription>()
  #channel: Channel | undefined
  #opening: Promise<Channel> | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  #count = 0

  constructor(options: SocketOptions) {
    this.#options = options
  }

  /** Follows something. The feed is there when the daemon has agreed. */
  async subscribe(fields: object, signal: AbortSignal): Promise<Feed> {
    const channel = await orAborted(this.#open(), signal)
    const name = `${this.#name}:${++this.#count}`
    const subscription = new Subscription((frames) => channel.send({ op: 'taken', subscription: name, frames }))
    this.#subscriptions.set(name, subscription)
    const leave = () => {
      if (!this.#subscriptions.delete(name)) return
      subscription.fail(signal.reason as Error)
      if (this.#channel !== channel) return
      if (isSilence(signal.reason)) return this.#giveUp(channel)
      channel.send({ op: 'unsubscribe', subscription: name })
      this.#restWhenIdle()
    }
    signal.addEventListener('abort', leave, { once: true })
    clearTimeout(this.#idle)
    channel.send({ op: 'subscribe', subscription: name, window: WINDOW, ...fields })
    await subscription.agreed
    return subscription
  }

  #open(): Promise<Channel> {
    clearTimeout(this.#idle)
    if (this.#channel) return Promise.resolve(this.#channel)
    this.#opening ??= this.#dial().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  async #dial(): Promise<Channel> {
    const address = await this.#options.address()
    let timer: ReturnType<typeof setTimeout> | undefined
    const opened = await new Promise<Channel | undefined>((resolve) => {
      timer = setTimeout(() => {
        channel.giveUp()
        resolve(undefined)
      }, HANDSHAKE_MS)
      const channel = this.#options.dial(address, {
        onOpen: () => {
          this.#channel = channel
          resolve(channel)
        },
        onMessage: (message) => this.#take(message),
        onClose: () => {
          if (this.#channel === channel) this.#lost()
          resolve(undefined)
        },
      })
    })
    clearTimeout(timer)
    return opened ?? this.#options.whyNot()
  }

  #take(message: Incoming): void {
    const name = message.subscription ?? ''
    const subscription = this.#subscriptions.get(name)
    if (!subscription) return
    if (message.op === 'ended' || message.op === 'error') this.#subscriptions.delete(name)
    subscription.take(message)
    this.#restWhenIdle()
  }

  #giveUp(channel: Channel): void {
    this.#lost()
    channel.giveUp()
  }

  #lost(): void {
    this.#channel = undefined
    const left = [...this.#subscriptions.values()]
    this.#subscriptions.clear()
    for (const subscription of left) subscription.fail(unreachable('the connection was lost'))
  }

  #restWhenIdle(): void {
    if (this.#subscriptions.size > 0) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      const channel = this.#channel
      if (this.#subscriptions.size > 0 || !channel) return
      this.#channel = undefined
      channel.close()
    }, IDLE_MS)
  }
}

/** Whether a stream was left because nothing came, although the daemon says something every now and then. */
const isSilence = (reason: unknown) => reason instanceof TurnloomError && reason.code === UNREACHABLE

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject)
  })
}

/** One stream on a socket. */
class Subscription implements Feed {
  readonly agreed: Promise<void>
  readonly #taken: (frames: number) => void
  #agree!: () => void
  #refuse!: (error: Error) => void
  #events: StreamEvent[] = []
  #end: { error?: Error } | undefined
  #wake: (() => void) | undefined
  /** Frames that count and were read, of which the daemon was not told. */
  #read = 0
  #counted = 0

  constructor(taken: (frames: number) => void) {
    this.#taken = taken
    this.agreed = new Promise((resolve, reject) => {
      this.#agree = resolve
      this.#refuse = reject
    })
  }

  take({ op, event, name, position, data, head, problem }: Incoming): void {
    if (op === 'subscribed') this.#agree()
    else if (op === 'error') this.fail(new TurnloomError(problem?.status ?? 0, problem ?? {}))
    else if (op === 'ended') this.#finish({})
    else if (op === 'heartbeat') this.#put({ name: 'heartbeat', data: { head } })
    else if (op === 'event' && event) this.#put({ name: event.type, data: event, position: event.seq }, 1)
    else if (op === 'frame') this.#put({ name: name ?? 'message', data, position }, 1)
  }

  fail(error: Error): void {
    this.#refuse(error)
    this.#finish({ error })
  }

  async next(): Promise<StreamEvent[] | undefined> {
    if (this.#events.length === 0 && !this.#end) await new Promise<void>((resolve) => (this.#wake = resolve))
    if (this.#events.length > 0) {
      const events = this.#events
      this.#events = []
      this.#read += this.#counted
      this.#counted = 0
      if (this.#read >= WINDOW / 2) {
        this.#taken(this.#read)
        this.#read = 0
      }
      return events
    }
    if (this.#end?.error) throw this.#end.error
    return undefined
  }

  #put(event: StreamEvent, counts = 0): void {
    this.#events.push(event)
    this.#counted += counts
    this.#wake?.()
  }

  #finish(end: { error?: Error }): void {
    this.#end ??= end
    this.#wake?.()
  }
}

/** A WebSocket of this page alone. */
export const dialWebSocket: Dial = ({ url, protocols }, listener) => {
  const socket = new WebSocket(url, protocols)
  socket.onopen = () => listener.onOpen()
  socket.onmessage = ({ data }) => listener.onMessage(JSON.parse(String(data)) as Incoming)
  socket.onclose = () => listener.onClose()
  return {
    send: (op) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(op))
    },
    close: () => socket.close(),
    giveUp: () => {
      // A browser may take its time to find out that nobody is there.
      socket.onclose = null
      socket.close()
    },
  }
}
