// Markdown while it streams: blocks that are finished are frozen, only the tail is read again. Not here: how tokens look.

import { Lexer, type Token, type Tokens, type TokensList } from 'marked'

/** How many blocks at the end may still change: the last one, and the one before it, which a lazy line or a list item can still join. */
const OPEN_BLOCKS = 2

/** How many blocks are drawn as one piece. A piece that is complete is never looked at again, so a long text costs no more than a short one. */
const CHUNK = 24

type Links = Lexer['tokens']['links']

/** How deep quotes and lists may stand in each other, and emphasis and links. What is deeper is shown as it was written. */
const DEEPEST_BLOCK = 20
const DEEPEST_INLINE = 12
/**
 * For each mark that may begin an emphasis the rest of the text is searched for its end. A text with more marks than anybody writes is read in
 * pieces of this length.
 */
const MOST_MARKS = 500
const PIECE = 1_000

/** Reads any text without overflowing the stack: the reader beneath it calls itself for every level of nesting. */
class BoundedLexer extends Lexer {
  #blockDepth = 0
  #inlineDepth = 0

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[]
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList
  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped = false): Token[] {
    if (this.#blockDepth >= DEEPEST_BLOCK) {
      tokens.push({ type: 'text', raw: src, text: src })
      return tokens
    }
    this.#blockDepth += 1
    try {
      return super.blockTokens(src, tokens, lastParagraphClipped)
    } finally {
      this.#blockDepth -= 1
    }
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.#inlineDepth >= DEEPEST_INLINE) {
      tokens.push({ type: 'text', raw: src, text: src })
      return tokens
    }
    this.#inlineDepth += 1
    try {
      for (const piece of piecesOf(src)) super.inlineTokens(piece, tokens)
      return tokens
    } finally {
      this.#inlineDepth -= 1
    }
  }
}

/** A text as it is, or in pieces that end between words where they can. */
function piecesOf(text: string): string[] {
  if (text.length <= PIECE || (text.match(/[*_~]/g)?.length ?? 0) <= MOST_MARKS) return [text]
  const pieces: string[] = []
  while (text.length > PIECE) {
    const space = text.lastIndexOf(' ', PIECE)
    // Two halves of one character stay together.
    const whole = /[\uD800-\uDBFF]/.test(text.charAt(PIECE - 1)) ? PIECE - 1 : PIECE
    const end = space > PIECE / 2 ? space : whole
    pieces.push(text.slice(0, end))
    text = text.slice(end)
  }
  return [...pieces, text]
}

/** Some blocks in a row. One that is complete stays the same object. */
export interface Chunk {
  tokens: Token[]
}

export interface Reader {
  /** Takes all of the text so far; it may only have grown, otherwise it is read anew. */
  read: (text: string, done: boolean) => Chunk[]
  /**
   * Links by reference reach back over frozen blocks, so they are read once more when all is there, one piece at a time: the caller may rest
   * between the steps. Each step gives the chunks as they are then.
   */
  settle: () => Generator<Chunk[]>
}

export function createReader(): Reader {
  /** Complete chunks, then frozen blocks that do not fill one yet. */
  let chunks: Chunk[] = []
  let frozen: Token[] = []
  let frozenLength = 0
  let links: Links = {}
  let known = ''
  let tail: Token[] = []

  function freeze(token: Token): void {
    frozen.push(token)
    frozenLength += token.raw.length
    define(token, links)
    if (frozen.length < CHUNK) return
    chunks.push({ tokens: frozen })
    frozen = []
  }

  const all = (): Chunk[] => {
    const open = [...frozen, ...tail]
    return open.length > 0 ? [...chunks, { tokens: open }] : [...chunks]
  }

  return {
    read(source, done) {
      const text = source.replaceAll('\r\n', '\n')
      if (!text.startsWith(known)) {
        chunks = []
        frozen = []
        frozenLength = 0
        links = {}
      }
      known = text
      tail = lex(text.slice(frozenLength), links)
      let left = done ? tail.length : finished(tail, text.length > 0 && !text.endsWith('\n'))
      for (; left > 0; left--) {
        const token = tail[0]
        // The lexer tidies some raw text; what it does not give back as it came stays in the tail.
        if (!token || !text.startsWith(token.raw, frozenLength)) break
        freeze(token)
        tail.shift()
      }
      return all()
    },

    *settle() {
      for (const token of tail) define(token, links)
      if (Object.keys(links).length === 0) return
      const again = (tokens: Token[]) => tokens.map((token) => reread(token, links))
      for (const [at, chunk] of chunks.entries()) {
        const tokens = again(chunk.tokens)
        if (tokens.every((token, place) => token === chunk.tokens[place])) continue
        chunks[at] = { tokens }
        yield all()
      }
      frozen = again(frozen)
      tail = again(tail)
      yield all()
    },
  }
}

function lex(source: string, links: Links): Token[] {
  const lexer = new BoundedLexer({ gfm: true })
  Object.assign(lexer.tokens.links, links)
  return lexer.lex(source)
}

/** How many tokens at the start of the tail cannot change any more. */
function finished(tail: Token[], inLine: boolean): number {
  const blocks = tail.flatMap((token, at) => (token.type === 'space' ? [] : [at]))
  // A line that is not complete says little about what it will be.
  const open = OPEN_BLOCKS + (inLine ? 1 : 0)
  return blocks.length > open ? (blocks[blocks.length - open] ?? 0) : 0
}

/** Notes the references that a block defines. The first definition holds. */
function define(token: Token, links: Links): void {
  if (token.type === 'def') {
    const { tag, href, title } = token as Tokens.Def
    links[tag] ??= { href, title }
  }
  const inner = 'tokens' in token ? (token.tokens ?? []) : []
  const items = token.type === 'list' ? (token as Tokens.List).items : []
  for (const child of [...inner, ...items]) define(child, links)
}

/** The same block with all references known; the same object where that changes nothing. */
function reread(token: Token, links: Links): Token {
  if (token.type === 'def' || token.type === 'code' || !token.raw.includes('[')) return token
  const [fresh, ...more] = lex(token.raw, links)
  // A block that does not stand for itself is left as it was read in its place.
  if (!fresh || more.length > 0 || fresh.type !== token.type) return token
  return JSON.stringify(fresh) === JSON.stringify(token) ? token : fresh
}

const SCHEMES = /^(https?:|mailto:)/i

/** An address that may be followed from a message, or nothing: files, parts of a page and scripts lead nowhere from here. */
export function safeHref(href: string): string | undefined {
  return SCHEMES.test(href.trim()) ? href.trim() : undefined
}

/** Whether an address is a program in disguise, which nobody has to read. */
export const isScript = (href: string) => /^\s*(javascript|vbscript|data):/i.test(href)
