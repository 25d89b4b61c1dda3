// The document that an agent shares with everybody who looks at its session. The agent changes a copy, and says what is different in one patch.

import { applyPatch, makePatch, PatchError } from '../patch.js'
import type { PatchOperation } from '../types.js'

export interface StateChange {
  /** What the document is now, with changes of this agent that were not said yet. */
  value: Record<string, unknown>
  /** Who changed it. */
  by: string
  /** What they did, if the daemon said so. */
  patch?: PatchOperation[] | undefined
  /** Changes of this agent that were not said yet and do not fit any more were dropped. */
  dropped: boolean
}

type Document = Record<string, unknown>

/** When there was room for it, and when the daemon has it. */
interface Said {
  taken: Promise<void>
  written: Promise<void>
}

export class AgentState {
  /** Change it as you like, then `flush`. After a change by somebody else it is another object. */
  value: Document
  /** What everybody knows. */
  #known: Document
  /** Said, and not yet acknowledged: a document that comes meanwhile does not have it. */
  #unconfirmed: PatchOperation[][] = []
  readonly #listeners = new Set<(change: StateChange) => void>()
  readonly #say: (patch: PatchOperation[]) => Said
  readonly #onProblem: (error: unknown) => void

  constructor(state: unknown, say: (patch: PatchOperation[]) => Said, onProblem: (error: unknown) => void) {
    this.#known = asDocument(state)
    this.value = structuredClone(this.#known)
    this.#say = say
    this.#onProblem = onProblem
  }

  /** Says what is different; nothing is said when nothing is. */
  async flush(): Promise<void> {
    const patch = structuredClone(makePatch(this.#known, this.value))
    if (patch.length === 0) return
    const { taken, written } = this.#say(patch)
    const before = this.#known
    const after = (this.#known = applyPatch(before, patch) as Document)
    this.#unconfirmed.push(patch)
    const forget = () => (this.#unconfirmed = this.#unconfirmed.filter((other) => other !== patch))
    void written.then(forget, forget)
    try {
      await taken
    } catch (error) {
      // It was not said, so the next one has to say it.
      forget()
      if (this.#known === after) this.#known = before
      throw error
    }
  }

  /** Told when somebody else has changed it. Gives a function that ends this. */
  onChange(listener: (change: StateChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Somebody else has changed it. */
  take(state: unknown, by: string, patch?: PatchOperation[]): void {
    const mine = makePatch(this.#known, this.value)
    let known: unknown = asDocument(state)
    for (const unconfirmed of this.#unconfirmed) known = attempt(known, unconfirmed) ?? known
    this.#known = known as Document
    const kept = attempt(this.#known, mine)
    this.value = structuredClone(kept ?? this.#known) as Document
    const change: StateChange = { value: this.value, by, patch, dropped: kept === undefined }
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        this.#onProblem(error)
      }
    }
  }
}

function attempt(document: unknown, patch: PatchOperation[]): unknown {
  try {
    return applyPatch(document, patch)
  } catch (error) {
    if (error instanceof PatchError) return undefined
    throw error
  }
}

const asDocument = (state: unknown): Document =>
  typeof state === 'object' && state !== null && !Array.isArray(state) ? (state as Document) : {}
