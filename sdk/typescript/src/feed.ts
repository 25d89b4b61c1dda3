// What every stream is made of, whatever carries it. Not here: how it is carried (`sse.ts`, `socket.ts`), and how it comes back (`follow.ts`).

/** One thing that a stream tells. */
export interface StreamEvent {
  name: string
  data: unknown
  /** Where a stream goes on after it; not everything has a place. */
  position?: number | undefined
}

/** A stream as long as its connection lasts. */
export interface Feed {
  /** Everything that has come, as soon as there is something; nothing when it has ended in order. */
  next(): Promise<StreamEvent[] | undefined>
}

/** Opens a connection, saying where it goes on. It ends by the signal. */
export type Open = (signal: AbortSignal) => Promise<Feed>
