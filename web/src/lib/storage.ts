// Small things that this browser, or this window of it, remembers: each under its own name. Not here: what is large (`kept.ts`).

type Where = 'localStorage' | 'sessionStorage'

const PREFIX = 'turnloom.'

export function load<T>(name: string, fallback: T, where: Where = 'localStorage'): T {
  try {
    const text = window[where].getItem(PREFIX + name)
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}

export function store(name: string, value: unknown, where: Where = 'localStorage'): void {
  try {
    if (value === undefined || value === '') window[where].removeItem(PREFIX + name)
    else window[where].setItem(PREFIX + name, JSON.stringify(value))
  } catch {
    // A full or forbidden store costs the memory of something, nothing else.
  }
}

/** What is remembered under names that begin so: the rest of those names. */
export function namesUnder(prefix: string): string[] {
  try {
    return Object.keys(window.localStorage).flatMap((name) =>
      name.startsWith(PREFIX + prefix) ? [name.slice(PREFIX.length + prefix.length)] : [],
    )
  } catch {
    return []
  }
}
