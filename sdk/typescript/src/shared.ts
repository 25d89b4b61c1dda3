// One connection for all pages of a browser: a shared worker has it, and pages talk to the worker. The worker knows nothing of sessions; it passes on what
// is said, to the page whose subscription it is. Both sides are here, because they are one protocol.

import { dialPosted } from './posted.js'
import { dialWebSocket, type Address, type Channel, type ChannelListener, type Dial, type Incoming } from './socket.js'

type FromPage = { dial: Address } | { op: Op } | { close: true } | { giveUp: true }
type FromWorker = { heard: true } | { opened: true } | { message: Incoming } | { closed: true }
type Op = { op: string; subscription?: string }

/** Whether the address is a socket's or a stream's. */
const dialEither: Dial = (address, listener) => (address.headers ? dialPosted : dialWebSocket)(address, listener)

/**
 * A page's way to the worker. Where there is none, or it cannot be started, the page has a WebSocket of its own; but no stream to post to, because each
 * page would hold one of the few connections that there are.
 */
export function dialShared(start: () => SharedWorker): Dial {
  let worker: SharedWorker | undefined
  let isBroken = typeof SharedWorker === 'undefined'
  return (address, listener) => {
    try {
      if (!isBroken) worker ??= start()
    } catch {
      isBroken = true
    }
    if (isBroken || !worker) return address.headers ? nobody(listener) : dialWebSocket(address, listener)
    // Each connection has a port of its own, so that nothing of an earlier one is taken for it.
    const { port1: port, port2: theirs } = new MessageChannel()
    const post = (message: FromPage) => port.postMessage(message)
    let isThere = false
    let isOpen = false
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      globalThis.removeEventListener('pagehide', leave)
      port.close()
      listener.onClose()
    }
    const leave = () => {
      post({ close: true })
      end()
    }
    worker.onerror = () => {
      isBroken = true
      end()
    }
    port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (isOver) return
      isThere = true
      if ('opened' in data) {
        isOpen = true
        listener.onOpen()
      } else if ('message' in data) listener.onMessage(data.message)
      else if ('closed' in data) end()
    }
    // A page that is left may be kept for a while; it must not hold anything then.
    globalThis.addEventListener('pagehide', leave)
    worker.port.postMessage({ join: true }, [theirs])
    post({ dial: address })
    const giveUp = () => {
      post({ giveUp: true })
      // The worker itself may be what is dead. One that has worked is started again; one that never said anything is not.
      if (isOpen) worker = undefined
      else if (!isThere) isBroken = true
      end()
    }
    return { send: (op) => !isOver && post({ op: op as Op }), close: leave, giveUp }
  }
}

/** A channel that does not come about. */
function nobody(listener: ChannelListener): Channel {
  const nothing = () => undefined
  queueMicrotask(() => listener.onClose())
  return { send: nothing, close: nothing, giveUp: nothing }
}

/** What runs in the worker, once for each port of a page. `dial` is another one in tests only. */
export function createConnectionSharer(dial: Dial = dialEither): (port: MessagePort) => void {
  const connections = new Map<string, SharedConnection>()
  return (port) => {
    let connection: SharedConnection | undefined
    const leave = () => {
      connection?.leave(port)
      connection = undefined
      port.close()
    }
    port.onmessage = ({ data }: MessageEvent<FromPage>) => {
      if ('dial' in data) {
        post(port, { heard: true })
        const key = JSON.stringify(data.dial)
        connection = connections.get(key)
        if (!connection) {
          // One that is over may hear of it twice, when another has its place already.
          const made: SharedConnection = new SharedConnection(
            dial,
            data.dial,
            () => connections.get(key) === made && connections.delete(key),
          )
          connections.set(key, made)
          connection = made
        }
        connection.join(port)
      } else if ('op' in data) connection?.send(port, data.op)
      else if ('giveUp' in data) connection?.giveUp()
      else leave()
    }
    // A page that was killed says nothing; browsers that know do.
    port.addEventListener('close', leave)
    port.start()
  }
}

/** One connection, and the ports that use it. */
class SharedConnection {
  /** Which subscription is whose. */
  readonly #names = new Map<string, MessagePort>()
  readonly #ports = new Set<MessagePort>()
  readonly #channel: Channel
  readonly #onOver: () => void
  #isOpen = false

  constructor(dial: Dial, address: Address, onOver: () => void) {
    this.#onOver = onOver
    const listener: ChannelListener = {
      onOpen: () => {
        this.#isOpen = true
        for (const port of this.#ports) post(port, { opened: true })
      },
      onMessage: (message) => this.#take(message),
      onClose: () => this.#end(),
    }
    this.#channel = dial(address, listener)
  }

  join(port: MessagePort): void {
    this.#ports.add(port)
    if (this.#isOpen) post(port, { opened: true })
  }

  send(port: MessagePort, op: Op): void {
    if (!this.#ports.has(port)) return
    if (op.op === 'subscribe' && op.subscription) this.#names.set(op.subscription, port)
    if (op.op === 'unsubscribe' && op.subscription) this.#names.delete(op.subscription)
    this.#channel.send(op)
  }

  leave(port: MessagePort): void {
    if (!this.#ports.delete(port)) return
    for (const [subscription, owner] of this.#names) {
      if (owner !== port) continue
      this.#names.delete(subscription)
      this.#channel.send({ op: 'unsubscribe', subscription })
    }
    if (this.#ports.size > 0) return
    this.#onOver()
    this.#channel.close()
  }

  giveUp(): void {
    this.#channel.giveUp()
    this.#end()
  }

  #end(): void {
    this.#onOver()
    for (const port of this.#ports) post(port, { closed: true })
    this.#ports.clear()
  }

  #take(message: Incoming): void {
    const name = message.subscription ?? ''
    const port = this.#names.get(name)
    if (!port) return
    if (message.op === 'ended' || message.op === 'error') this.#names.delete(name)
    post(port, { message })
  }
}

const post = (port: MessagePort, message: FromWorker) => port.postMessage(message)
