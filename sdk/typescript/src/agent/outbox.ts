// What a session says to the daemon, numbered and kept until the daemon has written it down. Not here: the connection, and what is said.

/** How much of a session may be on its way at once. */
export interface Window {
  messages: number
  bytes: number
}

/** Before the daemon has said what it wants. */
export const DEFAULT_WINDOW: Window = { messages: 1024, bytes: 4 * 1024 * 1024 }

/** What waits for room because nobody awaited what was said before; more than this is a mistake in the agent. */
const BEHIND_BYTES = 64 * 1024 * 1024

/** Takes what a session says. */
export interface Voice {
  /** Resolves when there is room for it; says go out in the order in which this was called. */
  say(message: Record<string, unknown>): Promise<void>
  /** Resolves when the daemon has everything that was said so far. */
  committed(): Promise<void>
}

interface Kept {
  n: number
  line: string
  bytes: number
}

interface Behind extends Kept {
  resolve(): void
  reject(error: Error): void
}

export class Outbox implements Voice {
  readonly #window: Window = { ...DEFAULT_WINDOW }
  /** Not acknowledged, and sent if there is a connection. */
  #kept: Kept[] = []
  #keptBytes = 0
  /** Has to wait for room. */
  #behind: Behind[] = []
  #behindBytes = 0
  #largest = DEFAULT_WINDOW.bytes * 2
  #said = 0
  #acknowledged = 0
  #send: ((line: string) => void) | undefined
  #waiting: { n: number; resolve(): void; reject(error: Error): void }[] = []
  #closed: Error | undefined

  /** The highest number that was given. */
  get said(): number {
    return this.#said
  }

  get acknowledged(): number {
    return this.#acknowledged
  }

  async say(message: Record<string, unknown>): Promise<void> {
    if (this.#closed) throw this.#closed
    const n = this.#said + 1
    const line = JSON.stringify({ ...message, n })
    const bytes = Buffer.byteLength(line)
    if (bytes > this.#largest)
      throw new RangeError(
        `${String(message['type'])} has ${bytes} bytes, and the daemon takes ${this.#largest} at once`,
      )
    const kept: Kept = { n, line, bytes }
    if (this.#behind.length === 0 && this.#hasRoom(bytes)) {
      this.#said = n
      return this.#keep(kept)
    }
    if (this.#behindBytes + bytes > BEHIND_BYTES)
      throw new RangeError('too much was said without waiting for it to be taken')
    this.#said = n
    this.#behindBytes += bytes
    return new Promise((resolve, reject) => this.#behind.push({ ...kept, resolve, reject }))
  }

  committed(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed)
    if (this.#acknowledged >= this.#said) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ n: this.#said, resolve, reject }))
  }

  /** There is a connection: what the daemon lacks goes out again, in order, before anything new. */
  attach(send: (line: string) => void, said: number, window: Window, largest: number): void {
    Object.assign(this.#window, window)
    // More than twice the window on its way is a reason to be disconnected, also when it is one message.
    this.#largest = Math.min(largest, window.bytes * 2)
    this.#send = undefined
    this.acknowledge(said)
    this.#send = send
    for (const { line } of this.#kept) send(line)
  }

  detach(): void {
    this.#send = undefined
  }

  /** The daemon has everything up to here. */
  acknowledge(n: number): void {
    const upTo = Math.min(n, this.#said)
    if (!(upTo > this.#acknowledged)) return
    this.#acknowledged = upTo
    while (this.#kept[0] && this.#kept[0].n <= upTo) this.#keptBytes -= (this.#kept.shift() as Kept).bytes
    // It can only acknowledge what it was sent; if it says otherwise it has it.
    while (this.#behind[0] && (this.#behind[0].n <= upTo || this.#hasRoom(this.#behind[0].bytes))) {
      const { resolve, ...next } = this.#behind.shift() as Behind
      this.#behindBytes -= next.bytes
      if (next.n > upTo) this.#keep({ n: next.n, line: next.line, bytes: next.bytes })
      resolve()
    }
    const done = this.#waiting.filter((waiter) => waiter.n <= upTo)
    this.#waiting = this.#waiting.filter((waiter) => waiter.n > upTo)
    for (const { resolve } of done) resolve()
  }

  /** Nobody wants to hear it any more. */
  close(error: Error): void {
    if (this.#closed) return
    this.#closed = error
    this.#send = undefined
    const left = [...this.#behind, ...this.#waiting]
    this.#kept = []
    this.#behind = []
    this.#waiting = []
    for (const { reject } of left) reject(error)
  }

  #hasRoom(bytes: number): boolean {
    if (this.#kept.length === 0) return true
    return this.#kept.length < this.#window.messages && this.#keptBytes + bytes <= this.#window.bytes
  }

  #keep(kept: Kept): void {
    this.#kept.push(kept)
    this.#keptBytes += kept.bytes
    this.#send?.(kept.line)
  }
}
