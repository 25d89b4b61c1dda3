// Nothing that an agent can say overflows the stack or holds the page up.
import type { Token, Tokens } from 'marked'
import { describe, expect, it } from 'vitest'
import { json, pretty } from '../src/lib/format'
import { createReader } from '../src/lib/markdown'
import { blockShape, type Shape } from '../src/ui/markdown/shape'

const read = (text: string): Token[] => {
  const reader = createReader()
  let chunks = reader.read(text, true)
  for (const next of reader.settle()) chunks = next
  return chunks.flatMap((chunk) => chunk.tokens)
}

function depthOf(shape: Shape | undefined): number {
  if (shape === undefined || typeof shape === 'string' || !('tag' in shape)) return 0
  return 1 + Math.max(0, ...shape.children.map(depthOf))
}

function wordsOf(shape: Shape | undefined): string {
  if (shape === undefined) return ''
  if (typeof shape === 'string') return shape
  return 'tag' in shape ? shape.children.map(wordsOf).join('') : shape.code
}

const stairs = (count: number, line: (step: number) => string) =>
  Array.from({ length: count }, (_, step) => line(step)).join('\n')

describe('nesting', () => {
  it.each([
    ['quotes', '>'.repeat(2_000) + ' knot'],
    ['very many quotes', '>'.repeat(50_000) + ' knot'],
    ['quotes by line', stairs(400, (step) => `${'>'.repeat(step + 1)} knot`)],
    ['lists in one line', '- '.repeat(2_000) + 'knot'],
    ['numbered lists in one line', '1. '.repeat(2_000) + 'knot'],
    ['lists by indentation', stairs(400, (step) => `${'  '.repeat(step)}- knot`)],
    ['quotes and lists', '> - '.repeat(2_000) + 'knot'],
    ['emphasis', '*'.repeat(6_000) + 'knot' + '*'.repeat(6_000)],
    ['emphasis of two kinds', '*a _b '.repeat(800) + 'knot' + '_ *'.repeat(800)],
    ['words in emphasis', 'knot' + '_a_'.repeat(20_000)],
    ['brackets', '['.repeat(20_000) + 'knot'],
    ['links', '['.repeat(3_000) + 'knot' + '](y)'.repeat(3_000)],
    ['strokes', '~~a '.repeat(5_000) + 'knot'],
    ['quotes before a reference', '>'.repeat(2_000) + ' [knot]\n\n[knot]: https://example.org'],
  ])(
    '%s are read and drawn, only so deep',
    (_, text) => {
      const begin = performance.now()
      const shapes = read(text).map(blockShape)
      expect(performance.now() - begin).toBeLessThan(10_000)
      expect(shapes.map(wordsOf).join('')).toContain('knot')
      expect(Math.max(...shapes.map(depthOf))).toBeLessThan(80)
    },
    30_000,
  )

  it('keeps what people write: ten levels of lists', () => {
    const items = (tokens: Token[]): number =>
      tokens.reduce((sum, token) => {
        const inner = token.type === 'list' ? (token as Tokens.List).items.flatMap((item) => item.tokens) : []
        return sum + (token.type === 'list' ? 1 : 0) + items(inner)
      }, 0)
    expect(items(read(stairs(10, (step) => `${'  '.repeat(step)}- knot`)))).toBe(10)
  })

  it('a long paragraph keeps its emphasis wherever it stands', () => {
    const strong = read('**knot** and many more words in between. '.repeat(100)).map(blockShape).map(wordsOf).join('')
    expect(strong).not.toContain('**')
  })
})

describe('values', () => {
  const nested = (levels: number) => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)) as unknown

  it('are written down as they are', () => {
    const value = { a: [1, { b: null }], c: 'x' }
    expect(json(value)).toBe(JSON.stringify(value))
    expect(pretty(value)).toBe(JSON.stringify(value, null, 2))
    expect(pretty('x')).toBe('x')
    expect(json(undefined)).toBe('')
  })

  it.each([100, 5_000, 100_000])('are cut where they are %i levels deep', (levels) => {
    expect(pretty(nested(levels)).length).toBeLessThan(10_000)
    expect(json(nested(levels))).toContain('…')
  })
})
