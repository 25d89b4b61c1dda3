import { describe, expect, it } from 'vitest'
import { SNOOZES } from '../src/lib/devices/snooze'

const at = (label: string, now: Date) => SNOOZES.find((snooze) => snooze.label.startsWith(label))?.at(now)

describe('until when something is put off', () => {
  it('counts hours from now', () => {
    const now = new Date(2026, 10, 18, 9, 30)
    expect(at('For an hour', now)).toEqual(new Date(2026, 10, 18, 10, 30))
    expect(at('For four hours', now)).toEqual(new Date(2026, 10, 18, 13, 30))
  })

  it('means the morning by the clock on the wall, also at the end of a month', () => {
    expect(at('Until tomorrow', new Date(2026, 10, 30, 23, 59))).toEqual(new Date(2026, 11, 1, 8))
    expect(at('Until tomorrow', new Date(2026, 2, 28, 12))).toEqual(new Date(2026, 2, 29, 8))
  })

  it('means the next Monday, never today', () => {
    for (let day = 1; day <= 14; day++) {
      const now = new Date(2026, 10, day, 7)
      const monday = at('Until Monday', now) ?? now
      expect(monday.getDay()).toBe(1)
      expect(monday.getTime()).toBeGreaterThan(now.getTime())
      expect(monday.getTime() - now.getTime()).toBeLessThan(8 * 24 * 3_600_000)
      expect(monday.getDate()).not.toBe(day)
    }
  })
})
