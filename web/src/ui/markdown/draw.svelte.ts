// Puts shapes on the page and brings them forward. By hand, because a long answer has thousands of them: a component for each would cost several
// times the nodes and the memory. What did not change stays the same node, so a selection survives while text streams in.

import { mount, unmount } from 'svelte'
import type { Token } from 'marked'
import Code from './Code.svelte'
import { blockShape, type Shape } from './shape'

interface CodeProps {
  text: string
  language: string | undefined
  done: boolean
}
interface Held {
  props: CodeProps
  component: Record<string, unknown>
}

/** Code is a component of its own, because it can be copied and coloured. */
const codes = new WeakMap<Node, Held>()

function build(shape: Shape, done: boolean): Node {
  if (typeof shape === 'string') return document.createTextNode(shape)
  if ('code' in shape) {
    const holder = document.createElement('div')
    holder.className = 'holder'
    const props = $state<CodeProps>({ text: shape.code, language: shape.language, done })
    codes.set(holder, { props, component: mount(Code, { target: holder, props }) })
    return holder
  }
  const element = document.createElement(shape.tag)
  for (const [name, value] of Object.entries(shape.attributes)) element.setAttribute(name, value)
  for (const child of shape.children) element.append(build(child, done))
  return element
}

/** What is inside a node that leaves the page leaves with it. */
function release(node: Node): void {
  const held = codes.get(node)
  if (held) void unmount(held.component)
  codes.delete(node)
  if (!held) for (const child of node.childNodes) release(child)
}

function drop(node: ChildNode): void {
  release(node)
  node.remove()
}

function patch(node: ChildNode, old: Shape, shape: Shape, done: boolean): ChildNode {
  if (typeof old === 'string' && typeof shape === 'string') {
    const text = node as Text
    if (shape.startsWith(old)) text.appendData(shape.slice(old.length))
    else text.data = shape
    return node
  }
  if (typeof old === 'object' && typeof shape === 'object') {
    const held = codes.get(node)
    if ('code' in shape && held) {
      Object.assign(held.props, { text: shape.code, language: shape.language, done })
      return node
    }
    if ('tag' in old && 'tag' in shape && alike(old, shape)) {
      patchAll(node as Element, old.children, shape.children, done)
      return node
    }
  }
  const fresh = build(shape, done) as ChildNode
  release(node)
  node.replaceWith(fresh)
  return fresh
}

function alike(
  old: { tag: string; attributes: Record<string, string> },
  shape: { tag: string; attributes: Record<string, string> },
) {
  return old.tag === shape.tag && JSON.stringify(old.attributes) === JSON.stringify(shape.attributes)
}

function patchAll(parent: Element, old: Shape[], shapes: Shape[], done: boolean): void {
  for (const [at, shape] of shapes.entries()) {
    const node = parent.childNodes[at]
    const before = old[at]
    if (node && before !== undefined) patch(node, before, shape, done)
    else parent.append(build(shape, done))
  }
  while (parent.childNodes.length > shapes.length) drop(parent.lastChild as ChildNode)
}

interface Drawn {
  token: Token
  done: boolean
  node: ChildNode | undefined
}

export interface Drawing {
  /** Brings the blocks forward. The last one is still being written, unless all is `done`. */
  show: (tokens: Token[], done: boolean) => void
  end: () => void
}

/** Draws blocks as the only children of an element. */
export function createDrawing(parent: Element): Drawing {
  const drawn: Drawn[] = []

  function place(at: number, token: Token, done: boolean): void {
    const known = drawn[at]
    if (known && known.token === token && known.done === done) return
    const shape = blockShape(token)
    let node: ChildNode | undefined
    if (known?.node && shape !== undefined) {
      node = patch(known.node, blockShape(known.token) ?? '', shape, done)
    } else if (shape !== undefined) {
      node = build(shape, done) as ChildNode
      const next = drawn.slice(at + 1).find((later) => later.node)?.node
      parent.insertBefore(node, next ?? null)
    }
    if (known?.node && known.node !== node && shape === undefined) drop(known.node)
    drawn[at] = { token, done, node }
  }

  return {
    show(tokens, done) {
      for (const [at, token] of tokens.entries()) place(at, token, done || at < tokens.length - 1)
      for (const gone of drawn.splice(tokens.length)) if (gone.node) drop(gone.node)
    },
    end() {
      for (const { node } of drawn) if (node) release(node)
    },
  }
}
