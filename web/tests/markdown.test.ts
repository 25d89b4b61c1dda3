import { Lexer, type Token } from 'marked'
import { describe, expect, it } from 'vitest'
import { createReader, safeHref, type Chunk, type Reader } from '../src/lib/markdown'

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

const all = (chunks: Chunk[]) => chunks.flatMap((chunk) => chunk.tokens)

function settled(reader: Reader, text: string): Token[] {
  let chunks = reader.read(text, true)
  for (const next of reader.settle()) chunks = next
  return all(chunks)
}

describe('reader', () => {
  it.each(texts(240))('any cuts give the whole at the end (seed %i)', (seed, text) => {
    const next = random(seed + 1_000)
    const reader = createReader()
    for (let at = 0; at < text.length;) {
      at = Math.min(text.length, at + 1 + Math.floor(next() * 12))
      const tokens = all(reader.read(text.slice(0, at), false))
      // Nothing is lost and nothing is doubled on the way.
      const words = (whole: string) => whole.replace(/\s/g, '')
      expect(words(tokens.map((token) => token.raw).join(''))).toBe(words(text.slice(0, at)))
    }
    expect(settled(reader, text)).toEqual([...new Lexer({ gfm: true }).lex(text)])
  })

  it('keeps frozen blocks as the same objects, and full chunks too', () => {
    const reader = createReader()
    const text = 'One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.\n\n'.repeat(10)
    const before = reader.read(text, false)
    const after = reader.read(text + 'Six.\n\n', false)
    expect(after[0]).toBe(before[0])
    expect(settled(reader, text + 'Six.\n\nSeven.')[0]).toBe(before[0]?.tokens[0])
  })

  it('draws a reference again when its address comes later, and nothing else', () => {
    const reader = createReader()
    const text = 'Plain.\n\nSee [ref].\n\n' + 'More.\n\n'.repeat(40) + '[ref]: https://example.org\n'
    const before = all(reader.read(text, false))
    const after = settled(reader, text)
    expect(after[0]).toBe(before[0])
    expect(JSON.stringify(after[2])).toContain('https://example.org')
  })

  it('reads anew what did not only grow', () => {
    const reader = createReader()
    reader.read('One.\n\nTwo.\n\nThree.\n\nFour.\n\n', false)
    expect(all(reader.read('Else.', false)).map((token) => token.raw)).toEqual(['Else.'])
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
    ['#part', undefined],
    ['src/loom.rs', undefined],
    ['file:///etc/passwd', undefined],
    ['javascript:alert(1)', undefined],
    [' JavaScript:alert(1)', undefined],
    ['data:text/html,x', undefined],
    ['/somewhere', undefined],
    ['vbscript:x', undefined],
  ])('%s', (href, expected) => expect(safeHref(href)).toBe(expected))
})
