import { Lexer } from 'marked'
import { describe, expect, it } from 'vitest'
import { createReader, safeHref } from '../src/lib/markdown'

const PIECES = [
  '# Title\n\n',
  'Words with **bold**, *em*, `code` and a [link](https://example.org).\n\n',
  '- one\n- two\n\n- loose\n\n',
  '1. a\n   - b\n\n   more\n2. c\n\n',
  '```rust\nfn main() {\n\n    let x = 1;\n}\n```\n\n',
  '| a | b |\n|---|--:|\n| 1 | 2 |\n\n',
  '> quote\n> more\n\n',
  'Setext\n---\n\n',
  '---\n\n',
  '<div>raw</div>\n\n',
  '- [ ] task\n- [x] done\n\n',
  'lazy\nlines\n',
  '[ref]: https://example.org\n\n',
  'See [ref] and [other][ref].\n\n',
  '    indented\n\n',
  '~~~\nopen fence\n',
  'wörd 😀\n\n',
]

/** Small and seeded, so that a failure can be repeated. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
}

function texts(count: number): [number, string][] {
  return Array.from({ length: count }, (_, seed) => {
    const next = random(seed)
    const length = 1 + Math.floor(next() * 14)
    return [seed, Array.from({ length }, () => PIECES[Math.floor(next() * PIECES.length)]).join('')]
  })
}

describe('reader', () => {
  it.each(texts(120))('any cuts give the whole at the end (seed %i)', (seed, text) => {
    const next = random(seed + 1_000)
    const reader = createReader()
    for (let at = 0; at < text.length;) {
      at = Math.min(text.length, at + 1 + Math.floor(next() * 12))
      const tokens = reader.read(text.slice(0, at), false)
      // Nothing is lost and nothing is doubled on the way.
      const words = (whole: string) => whole.replace(/\s/g, '')
      expect(words(tokens.map((token) => token.raw).join(''))).toBe(words(text.slice(0, at)))
    }
    expect([...reader.read(text, true)]).toEqual([...new Lexer({ gfm: true }).lex(text)])
  })

  it('keeps frozen blocks as the same objects', () => {
    const reader = createReader()
    const text = 'One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.\n\n'
    const before = reader.read(text, false)[0]
    reader.read(text + 'Six.\n\n', false)
    expect(reader.tokens[0]).toBe(before)
    expect(reader.read(text + 'Six.\n\nSeven.', true)[0]).toBe(before)
  })

  it('reads anew what did not only grow', () => {
    const reader = createReader()
    reader.read('One.\n\nTwo.\n\nThree.\n\nFour.\n\n', false)
    expect(reader.read('Else.', false).map((token) => token.raw)).toEqual(['Else.'])
  })

  it('reads only the tail of a long text', () => {
    const reader = createReader()
    const text = 'Some words in a paragraph.\n\n'.repeat(4_000)
    const begin = performance.now()
    for (let at = 1_000; at <= text.length; at += 1_000) reader.read(text.slice(0, at), false)
    expect(performance.now() - begin).toBeLessThan(3_000)
  })
})

describe('safeHref', () => {
  it.each([
    ['https://example.org', 'https://example.org'],
    ['mailto:a@example.org', 'mailto:a@example.org'],
    ['#part', '#part'],
    ['javascript:alert(1)', undefined],
    [' JavaScript:alert(1)', undefined],
    ['data:text/html,x', undefined],
    ['/api/sessions', undefined],
    ['vbscript:x', undefined],
  ])('%s', (href, expected) => expect(safeHref(href)).toBe(expected))
})
