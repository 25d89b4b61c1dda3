// Things that wait for somebody to take them, in order.

export class Queue<T extends object> {
  readonly #limit: number
  #items: T[] = []
  #wake: (() => void)[] = []
  #isClosed = false

  /** With more than `limit` the oldest go. */
  constructor(limit = Infinity) {
    this.#limit = limit
  }

  get length(): number {
    return this.#items.length
  }

  get items(): readonly T[] {
    return this.#items
  }

  put(item: T): void {
    if (this.#isClosed) return
    this.#items.push(item)
    if (this.#items.length > this.#limit) this.#items.shift()
    this.#wakeAll()
  }

  /** The next one; nothing when there will be none. */
  async take(): Promise<T | undefined> {
    await this.ready()
    return this.#isClosed ? undefined : (this.#items.shift() ?? this.take())
  }

  /** Resolves when there is one, or when there will be none. */
  async ready(): Promise<void> {
    while (this.#items.length === 0 && !this.#isClosed) await new Promise<void>((resolve) => this.#wake.push(resolve))
  }

  close(): void {
    this.#isClosed = true
    this.#items = []
    this.#wakeAll()
  }

  #wakeAll(): void {
    const woken = this.#wake
    this.#wake = []
    for (const wake of woken) wake()
  }
}
