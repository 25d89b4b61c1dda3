// A secret that was just made, until its page has shown it. It is kept nowhere else.

class Once {
  #made = $state.raw<{ id: string; secret: string }>()

  put(id: string, secret: string): void {
    this.#made = { id, secret }
  }

  of(id: string): string | undefined {
    return this.#made?.id === id ? this.#made.secret : undefined
  }

  hide(): void {
    this.#made = undefined
  }
}

export const once = new Once()

/** A secret as hard to guess as any: 32 random bytes. */
export function randomSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
