import { Lexer } from 'marked'
import { describe, expect, it } from 'vitest'
import { blockShape, type Shape } from '../src/ui/markdown/shape'

const shapes = (text: string) =>
  new Lexer({ gfm: true }).lex(text).flatMap((token) => {
    const shape = blockShape(token)
    return shape === undefined ? [] : [shape]
  })

/** Every element in it, however deep. */
function elements(shape: Shape): Exclude<Shape, string>[] {
  if (typeof shape === 'string') return []
  return 'tag' in shape ? [shape, ...shape.children.flatMap(elements)] : [shape]
}

const TAGS = /^(p|h[2-6]|ul|ol|li|input|div|table|thead|tbody|tr|th|td|blockquote|hr|pre|strong|em|del|code|br|a|span)$/
const ATTRIBUTES = /^(class|dir|start|type|disabled|checked|aria-label|tabindex|role|title|href|target|rel)$/

describe('blockShape', () => {
  it.each([
    '<img src=x onerror="hack()"> <script>hack()</script>',
    '[click](javascript:hack()) ![x](https://elsewhere.invalid/a.png)',
    '<svg onload="hack()"></svg>\n\n<iframe src="javascript:hack()"></iframe>',
    '- <b onclick="hack()">x</b>\n- [x](data:text/html,hack)\n\n| <i>a</i> |\n|---|\n| [b](vbscript:hack) |',
    '> [ref]\n\n[ref]: javascript:hack() "onclick=hack()"',
  ])('makes nothing but plain elements of %j', (text) => {
    for (const element of shapes(text).flatMap(elements)) {
      if (!('tag' in element)) continue
      expect(element.tag).toMatch(TAGS)
      for (const name of Object.keys(element.attributes)) expect(name).toMatch(ATTRIBUTES)
      expect(element.attributes['href'] ?? 'https:').toMatch(/^(https?:|mailto:|#)/)
    }
  })

  it('says where a link leads that this page cannot follow', () => {
    const words = (text: string) => JSON.stringify(shapes(text))
    expect(words('[the loom](src/loom.rs:12)')).toContain('"children":["src/loom.rs:12"]')
    expect(words('[src/loom.rs](src/loom.rs)').split('src/loom.rs')).toHaveLength(3)
    expect(words('[part](#part)')).not.toContain('"code"')
    for (const text of ['[a](src/loom.rs)', '[a](#part)', '[a](/home/user/loom.rs)'])
      expect(shapes(text).flatMap(elements)).not.toContainEqual(expect.objectContaining({ tag: 'a' }))
  })

  it('lets every paragraph have its own direction', () => {
    const all = shapes('# a\n\nb\n\n> c\n\n- d\n\n| e |\n|---|\n| f |').flatMap(elements)
    for (const tag of ['h2', 'p', 'blockquote', 'ul', 'li', 'th', 'td'])
      expect(all).toContainEqual(expect.objectContaining({ tag, attributes: expect.objectContaining({ dir: 'auto' }) }))
  })

  it('keeps structure: lists, tasks, tables, code', () => {
    expect(shapes('3. a\n4. b')).toMatchObject([{ tag: 'ol', attributes: { start: '3' } }])
    expect(shapes('- [x] done')).toMatchObject([
      { tag: 'ul', children: [{ attributes: { class: 'task' }, children: [{ tag: 'input' }, 'done'] }] },
    ])
    expect(shapes('| a |\n|--:|\n| 1 |')).toMatchObject([{ attributes: { class: 'table', tabindex: '0' } }])
    expect(shapes('```rust\nfn x() {}\n```')).toEqual([{ code: 'fn x() {}', language: 'rust' }])
  })
})
