// Lists that are read again when the stream of tasks says that they have changed: for clients that cannot hold a connection for each list. Not here: how
// a list is read.

import type { Feed, StreamEvent } from './feed.js'

/** What the stream of tasks says, as far as it is about lists. */
type Told = { type?: string }

export class ChangedLists {
  /** How often lists were said to have changed. */
  #changes = 0
  #wake = new Set<() => void>()

  /** The stream of tasks, which is listened to on its way. It is new, so lists may have changed before. */
  hear(feed: Feed): Feed {
    this.#tell(true)
    return {
      next: async () => {
        const events = await feed.next()
        if (events) this.#tell(events.some(({ data }) => (data as Told).type === 'sessions:changed'))
        return events
      },
    }
  }

  /** A list, as a feed of what it was whenever it was another. */
  async open(name: string, read: () => Promise<unknown>, signal: AbortSignal): Promise<Feed> {
    let known = ''
    let seen = this.#changes
    const look = async (): Promise<StreamEvent[]> => {
      seen = this.#changes
      const data = await read()
      const text = JSON.stringify(data)
      if (text === known) return []
      known = text
      return [{ name, data, position: undefined }]
    }
    let first: StreamEvent[] | undefined = await look()
    return {
      next: async () => {
        const given = first
        first = undefined
        if (given) return given
        if (seen === this.#changes) await this.#heard(signal)
        // That the daemon says something is worth knowing, also when the list is what it was.
        return seen === this.#changes ? [] : look()
      },
    }
  }

  #tell(isChanged: boolean): void {
    if (isChanged) this.#changes += 1
    for (const wake of [...this.#wake]) wake()
  }

  /** Waits until the stream of tasks says anything. */
  #heard(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#wake.delete(end)
        signal.removeEventListener('abort', end)
        if (signal.aborted) reject(signal.reason as Error)
        else resolve()
      }
      this.#wake.add(end)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  }
}
