// What a person did in a component and the agent does not know yet: words in a field, what is open, how a table is sorted. It stays when properties
// change, when the component moves, and when its place is closed for a while. Another name under the same id is another component.

export type Kept = Record<string, unknown>

/** Components of a session that are remembered; the one that was drawn longest ago is forgotten first. */
const MOST = 120

export class Memory {
  #kept = new Map<string, { name: string; kept: Kept }>()

  of(componentId: string, name: string): Kept {
    const known = this.#kept.get(componentId)
    this.#kept.delete(componentId)
    const kept = known?.name === name ? known : { name, kept: made() }
    this.#kept.set(componentId, kept)
    const oldest = this.#kept.keys().next().value
    if (this.#kept.size > MOST && oldest !== undefined) this.#kept.delete(oldest)
    return kept.kept
  }
}

function made(): Kept {
  const kept = $state<Kept>({})
  return kept
}
