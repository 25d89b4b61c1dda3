import { describe, expect, it } from 'vitest'
import { chartOf, isEmpty, pointsOf, slicesOf, stack, summaryOf, wordsAt } from '../../src/lib/components/chart'
import { place, ticksOf, timeAxis, valueAxis } from '../../src/lib/components/scale'
import { MOST_POINTS, thinColumns, thinLine } from '../../src/lib/components/thin'

describe('a chart reads its rows', () => {
  it.each([
    ['numbers', [3, 5], ['1', '2'], [[3, 5]]],
    [
      'pairs',
      [
        ['a', 1],
        ['b', 2],
      ],
      ['a', 'b'],
      [[1, 2]],
    ],
    [
      'objects',
      [
        { m: 'Jan', n: 1, k: 2 },
        { m: 'Feb', n: 3, k: 4 },
      ],
      ['Jan', 'Feb'],
      [
        [1, 3],
        [2, 4],
      ],
    ],
    [
      'what is no number',
      [
        { m: 'Jan', n: Infinity },
        { m: 'Feb', n: 3 },
        { m: 'Mar', n: 'x' },
      ],
      ['Jan', 'Feb', 'Mar'],
      [[undefined, 3, undefined]],
    ],
  ])('%s', (_, data, labels, values) => {
    const chart = chartOf({ type: 'bar', data })
    expect(chart.labels).toEqual(labels)
    expect(chart.series.map((series) => series.values)).toEqual(values)
  })

  it('rows that name their series', () => {
    const data = [
      { d: 'a', s: 'x', n: 1 },
      { d: 'b', s: 'x', n: 2 },
      { d: 'b', s: 'y', n: 3 },
    ]
    const chart = chartOf({ type: 'line', data, series: 's' })
    expect(chart.series).toMatchObject([
      { name: 'x', values: [1, 2], rows: [0, 1] },
      { name: 'y', values: [undefined, 3], rows: [undefined, 2] },
    ])
  })

  it('times and numbers lie where they are, names side by side', () => {
    expect(chartOf({ type: 'line', data: [{ at: '2026-01-01', n: 1 }] }).across).toBe('times')
    expect(chartOf({ type: 'line', data: [{ x: 7, n: 1 }] }).xs).toEqual([7])
    expect(chartOf({ type: 'bar', data: [{ at: '2026-01-01', n: 1 }] }).across).toBe('names')
  })

  it('only colours of the page, or six digits', () => {
    const colors = ['ok', '#12ab9F', 'red', 'url(x)', '#12ab9f;color:red', 7]
    const chart = chartOf({ type: 'line', colors, data: [{ m: 'a', p: 1, q: 2 }] })
    expect(chart.series.map(({ colour }) => colour)).toEqual(['var(--ok)', '#12ab9F'])
  })

  it.each([undefined, null, 7, 'text', [null, undefined, [], {}, 'x'], { a: 1 }])('anything: %j', (data) => {
    for (const type of ['bar', 'pie', 'spiral', 3]) {
      const chart = chartOf({ type, data, y: 7, x: {}, series: [] })
      expect(isEmpty(chart)).toBe(true)
      expect(summaryOf(chart)).toContain('without values')
    }
  })

  it('says what stands at a place, and what all of it is', () => {
    const chart = chartOf({
      type: 'bar',
      unit: 'kg',
      data: [
        { m: 'Jan', n: 1_200.5 },
        { m: 'Feb', n: 3 },
      ],
    })
    expect(wordsAt(chart, 0)).toMatchObject({ label: 'Jan', values: [{ name: 'n', words: '1\u202f200.5\u202fkg' }] })
    expect(summaryOf(chart)).toBe('Bar chart of n: 2 values between 3\u202fkg and 1\u202f200.5\u202fkg')
  })

  it('stacks from zero, up and down', () => {
    const { series } = chartOf({ type: 'bar', data: [{ m: 'a', p: 2, q: -1, r: 3 }] })
    expect(stack(series, 1)).toEqual([[{ from: 0, to: 2 }], [{ from: 0, to: -1 }], [{ from: 2, to: 5 }]])
  })

  it('small slices are one', () => {
    const slices = slicesOf(
      chartOf({ type: 'pie', data: Array.from({ length: 14 }, (_, at) => ({ n: `s${at}`, v: at })) }),
    )
    expect(slices).toHaveLength(10)
    expect(slices.at(-1)?.label).toBe('4 others')
    expect(slices.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
  })
})

describe('axes', () => {
  it('have few round ticks', () => {
    expect(ticksOf(0, 97, 5)).toEqual([0, 20, 40, 60, 80])
    expect(ticksOf(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
    expect(ticksOf(3, 3, 5)).toEqual([3])
  })
  it.each([
    [[3, 97], true, 0, 100],
    [[-20, 60], true, -20, 60],
    [[95, 99], false, 95, 99],
    [[0, 0], true, 0, 1],
    [[], true, 0, 1],
  ])('of %j hold all of it', (values, zero, from, to) =>
    expect(valueAxis(values, { zero }, 5)).toMatchObject({ from, to }),
  )
  it('obey limits that are told', () =>
    expect(valueAxis([1, 9], { zero: true, min: -5, max: 50 }, 4)).toMatchObject({ from: -5, to: 50 }))
  it('of times have ticks inside, in order', () => {
    for (const span of [90_000, 86_400_000, 40 * 86_400_000, 900 * 86_400_000]) {
      const { ticks } = timeAxis(1_777_000_000_000, 1_777_000_000_000 + span, 6)
      expect(ticks.length).toBeGreaterThan(1)
      expect(ticks.length).toBeLessThan(20)
      expect(
        ticks.every(({ at }, place) => at >= 1_777_000_000_000 && (place === 0 || at > (ticks[place - 1]?.at ?? 0))),
      ).toBe(true)
    }
  })
  it('put a value between two places', () => expect(place({ from: 0, to: 10 }, 5, 100, 0)).toBe(50))
})

describe('too many points', () => {
  const many = Array.from({ length: 5_000 }, (_, row) => ({
    x: row,
    y: row === 1_234 ? 1_000 : Math.sin(row / 50),
    row,
  }))
  it('are thinned for drawing, and keep the ends and what stands out', () => {
    const thin = thinLine(many, MOST_POINTS)
    expect(thin).toHaveLength(MOST_POINTS)
    expect([thin[0]?.row, thin.at(-1)?.row]).toEqual([0, 4_999])
    expect(thin.some(({ row }) => row === 1_234)).toBe(true)
  })
  it('stay whole in the data', () => {
    const chart = chartOf({ type: 'line', data: many.map(({ y }) => y) })
    expect(chart.series[0]?.values).toHaveLength(5_000)
    expect(chart.series[0] && pointsOf(chart, chart.series[0])).toHaveLength(MOST_POINTS)
  })
  it('of bars keep the largest of each bucket', () => {
    expect(thinColumns([1, 9, 2, 3, 8, 1], 2)).toEqual([1, 4])
    expect(thinColumns([1, 2], 5)).toEqual([0, 1])
  })
})
