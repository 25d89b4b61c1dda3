// Until when something may be put off.

export interface Snooze {
  /** Reads on after "Snoozed". */
  words: string
  label: string
  at: (now: Date) => Date
}

const HOUR = 3_600_000

export const SNOOZES: [Snooze, ...Snooze[]] = [
  { words: 'for an hour', label: 'For an hour', at: (now) => new Date(now.getTime() + HOUR) },
  { words: 'for four hours', label: 'For four hours', at: (now) => new Date(now.getTime() + 4 * HOUR) },
  { words: 'until tomorrow', label: 'Until tomorrow, 8:00', at: (now) => morning(now, 1) },
  { words: 'until Monday', label: 'Until Monday, 8:00', at: (now) => morning(now, (8 - now.getDay()) % 7 || 7) },
]

/** Eight o'clock by the clock on the wall, some days from now. */
function morning(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, 8)
}
