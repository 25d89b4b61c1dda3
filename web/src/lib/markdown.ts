// Markdown while it streams: blocks that are finished are frozen, only the tail is read again. Not here: how tokens look.

import { Lexer, type Token } from 'marked'

/** How many blocks at the end may still change: the last one, and the one before it, which a lazy line or a list item can still join. */
const OPEN_BLOCKS = 2

const lex = (source: string) => new Lexer({ gfm: true }).lex(source)

export interface Reader {
  /** The tokens of the text so far. Frozen ones are the same objects as before. */
  tokens: Token[]
  /** Takes all of the text so far; it may only have grown, otherwise it is read anew. */
  read: (text: string, done: boolean) => Token[]
}

export function createReader(): Reader {
  let frozen: Token[] = []
  let frozenText = ''
  let known = ''

  const reader: Reader = {
    tokens: [],
    read(source, done) {
      const text = source.replaceAll('\r\n', '\n')
      if (done) {
        reader.tokens = settled(reader.tokens, text)
        known = text
        return reader.tokens
      }
      if (!text.startsWith(known)) {
        frozen = []
        frozenText = ''
      }
      known = text
      const tail = lex(text.slice(frozenText.length))
      const count = finished(tail, text.length > 0 && !text.endsWith('\n'))
      for (let left = count; left > 0; left--) {
        const token = tail[0]
        // The lexer tidies some raw text; what it does not give back as it came stays in the tail.
        if (!token || !text.startsWith(token.raw, frozenText.length)) break
        frozen.push(token)
        frozenText += token.raw
        tail.shift()
      }
      reader.tokens = [...frozen, ...tail]
      return reader.tokens
    },
  }
  return reader
}

/** How many tokens at the start of the tail cannot change any more. */
function finished(tail: Token[], inLine: boolean): number {
  const blocks = tail.flatMap((token, at) => (token.type === 'space' ? [] : [at]))
  // A line that is not complete says little about what it will be.
  const open = OPEN_BLOCKS + (inLine ? 1 : 0)
  return blocks.length > open ? (blocks[blocks.length - open] ?? 0) : 0
}

/**
 * The whole text, read once more: reference links and loose lists reach back over frozen blocks. Blocks that came out the same stay the same
 * objects, so that the page does not draw them again.
 */
function settled(before: Token[], text: string): Token[] {
  const tokens = lex(text)
  if (Object.keys(tokens.links).length > 0) return tokens
  return tokens.map((token, at) => {
    const old = before[at]
    return old && old.type === token.type && JSON.stringify(old) === JSON.stringify(token) ? old : token
  })
}

const SCHEMES = /^(https?:|mailto:|#)/i

/** An address that may be followed from a message, or nothing. */
export function safeHref(href: string): string | undefined {
  return SCHEMES.test(href.trim()) ? href.trim() : undefined
}
