// What markdown tokens look like, as plain data: elements, text and code. Markup in a message is words here, links pass a list of schemes, and
// nothing else becomes an attribute. Not here: the page.

import type { Token, Tokens } from 'marked'
import { isScript, safeHref } from '../../lib/markdown'

export interface ElementShape {
  tag: string
  attributes: Record<string, string>
  children: Shape[]
}
export interface CodeShape {
  code: string
  language: string | undefined
}
export type Shape = string | ElementShape | CodeShape

const element = (tag: string, children: Shape[], attributes: Record<string, string> = {}): ElementShape => ({
  tag,
  attributes,
  children,
})
/** What is read in the direction its first letters have. */
const AUTO = { dir: 'auto' }
const as = <T>(token: Token) => token as T

/** One block; nothing for what is only space between blocks. */
export function blockShape(token: Token): Shape | undefined {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return undefined
    case 'paragraph':
      return element('p', inlineShapes(as<Tokens.Paragraph>(token).tokens), AUTO)
    case 'text':
      return element('p', textShapes(as<Tokens.Text>(token)), AUTO)
    case 'heading': {
      const { depth, tokens } = as<Tokens.Heading>(token)
      // One step down: the page's own heading is the session's title.
      return element(`h${Math.min(6, depth + 1)}`, inlineShapes(tokens), { class: `heading h${depth}`, ...AUTO })
    }
    case 'code': {
      const { text, lang } = as<Tokens.Code>(token)
      return { code: text, language: lang }
    }
    case 'list':
      return list(as<Tokens.List>(token))
    case 'table':
      return table(as<Tokens.Table>(token))
    case 'blockquote':
      return element('blockquote', blockShapes(as<Tokens.Blockquote>(token).tokens), AUTO)
    case 'hr':
      return element('hr', [])
    case 'html':
      return element('pre', [token.raw.trimEnd()], { class: 'raw' })
    default:
      return element('p', [token.raw])
  }
}

function blockShapes(tokens: Token[]): Shape[] {
  return tokens.map(blockShape).filter((shape) => shape !== undefined)
}

function list({ ordered, start, items }: Tokens.List): Shape {
  const from: Record<string, string> = ordered && start !== 1 ? { start: String(start) } : {}
  return element(ordered ? 'ol' : 'ul', items.map(item), { ...from, ...AUTO })
}

function item({ task, checked, tokens }: Tokens.ListItem): Shape {
  const inside = tokens.flatMap((token): Shape[] => {
    if (token.type === 'text') return textShapes(as<Tokens.Text>(token))
    return blockShapes([token])
  })
  if (!task) return element('li', inside, AUTO)
  const box = { type: 'checkbox', disabled: '', 'aria-label': checked ? 'Done' : 'Not done' }
  return element('li', [element('input', [], checked ? { ...box, checked: '' } : box), ...inside], {
    class: 'task',
    ...AUTO,
  })
}

function table({ header, rows }: Tokens.Table): Shape {
  const cell = (tag: string) => (cell: Tokens.TableCell) =>
    element(tag, inlineShapes(cell.tokens), { ...(cell.align ? { class: cell.align } : {}), ...AUTO })
  const body = rows.map((row) => element('tr', row.map(cell('td'))))
  const head = element('thead', [element('tr', header.map(cell('th')))])
  // A wide table has to scroll by keyboard too.
  return element('div', [element('table', [head, element('tbody', body)])], {
    class: 'table',
    tabindex: '0',
    role: 'group',
    'aria-label': 'Table',
  })
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00a0' }
const plain = (text: string) => text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '')

function textShapes({ tokens, raw }: Tokens.Text): Shape[] {
  return tokens ? inlineShapes(tokens) : [plain(raw)]
}

function inlineShapes(tokens: Token[]): Shape[] {
  return tokens.flatMap((token): Shape[] => {
    switch (token.type) {
      case 'text':
        return textShapes(as<Tokens.Text>(token))
      case 'escape':
        return [as<Tokens.Escape>(token).text]
      case 'strong':
      case 'em':
      case 'del':
        return [element(token.type, inlineShapes(as<Tokens.Strong>(token).tokens))]
      case 'codespan':
        return [element('code', [as<Tokens.Codespan>(token).text])]
      case 'br':
        return [element('br', [])]
      case 'link': {
        const { href, title, tokens } = as<Tokens.Link>(token)
        return [link(href, title, inlineShapes(tokens))]
      }
      case 'image': {
        // An image from elsewhere would tell somebody that this was read: it is a link.
        const { href, text } = as<Tokens.Image>(token)
        return [link(href, undefined, [`Image: ${text || href}`])]
      }
      default:
        return [token.raw]
    }
  })
}

function link(address: string, title: string | null | undefined, children: Shape[]): Shape {
  const href = safeHref(address)
  if (!href) return unlinked(address, children)
  const about: Record<string, string> = title ? { title } : {}
  return element('a', children, { href, ...about, target: '_blank', rel: 'noreferrer noopener' })
}

/** A place that this page cannot go to, such as a file of the project: the words, and the place where it says more than they do. */
function unlinked(address: string, children: Shape[]): Shape {
  const said = wordsOf(children)
  const more = address && !address.startsWith('#') && !said.includes(address) && !isScript(address)
  return element('span', more ? [...children, ' ', element('code', [address])] : children, { title: address })
}

const wordsOf = (shapes: Shape[]): string =>
  shapes
    .map((shape) => (typeof shape === 'string' ? shape : 'tag' in shape ? wordsOf(shape.children) : shape.code))
    .join('')
