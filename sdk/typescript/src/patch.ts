// JSON Patch (RFC 6902): applying one, and finding the one that leads from a document to another. Nothing that is given is changed; what did not
// change is the same object afterwards. Keys are only ever own ones, so a document cannot reach the prototype of anything.

import type { PatchOperation } from './types.js'

/** A patch that does not fit its document, or that is none. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
}

type Fields = Record<string, unknown>

/** The document after all of the patch; throws a `PatchError` that names the operation, and then nothing has changed. */
export function applyPatch(document: unknown, patch: readonly PatchOperation[]): unknown {
  if (!Array.isArray(patch)) throw new PatchError('a patch is a list of operations')
  let result = document
  for (const [at, operation] of (patch as PatchOperation[]).entries()) {
    try {
      result = applyOne(result, operation)
    } catch (error) {
      if (!(error instanceof PatchError)) throw error
      throw new PatchError(`operation ${at}: ${error.message}`)
    }
  }
  return result
}

function applyOne(document: unknown, operation: PatchOperation): unknown {
  if (!isObject(operation)) throw new PatchError('it is not an object')
  const path = pointer(operation.path)
  switch (operation.op) {
    case 'add':
      return add(document, path, valueOf(operation))
    case 'remove':
      return remove(document, path)
    case 'replace':
      look(document, path)
      return replace(document, path, valueOf(operation))
    case 'test':
      if (!isEqual(look(document, path), valueOf(operation)))
        throw new PatchError(`${operation.path} is something else`)
      return document
    case 'copy':
      return add(document, path, look(document, pointer(operation.from)))
    case 'move': {
      const from = pointer(operation.from)
      const value = look(document, from)
      if (from.length < path.length && from.every((part, at) => part === path[at]))
        throw new PatchError('something cannot be moved into itself')
      return from.length === 0 ? value : add(remove(document, from), path, value)
    }
    default:
      throw new PatchError(`there is no operation ${JSON.stringify((operation as { op: unknown }).op)}`)
  }
}

function valueOf(operation: object): unknown {
  if (!Object.hasOwn(operation, 'value')) throw new PatchError('it has no value')
  return (operation as { value: unknown }).value
}

/** The parts of a JSON Pointer. */
function pointer(text: unknown): string[] {
  if (typeof text !== 'string' || (text !== '' && !text.startsWith('/')))
    throw new PatchError(`${JSON.stringify(text)} is not a JSON Pointer`)
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const asPointer = (path: readonly string[]) =>
  path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** What stands at a place. */
function look(document: unknown, path: readonly string[]): unknown {
  let node = document
  for (const key of path) {
    const child = Array.isArray(node) ? node[indexIn(node, key, node.length - 1)] : own(node, key)
    if (child === undefined) throw new PatchError(`${asPointer(path)} leads nowhere`)
    node = child
  }
  return node
}

const own = (node: unknown, key: string) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined)

function indexIn(list: unknown[], key: string, last: number): number {
  const index = /^(0|[1-9]\d{0,9})$/.test(key) ? Number(key) : NaN
  if (!(index <= last)) throw new PatchError(`${JSON.stringify(key)} is no place in a list of ${list.length}`)
  return index
}

/** The document with its innermost container on the way changed. */
function change(document: unknown, path: readonly string[], edit: (parent: unknown, key: string) => unknown): unknown {
  const [key, ...rest] = path as [string, ...string[]]
  if (rest.length === 0) return edit(document, key)
  const child = change(look(document, [key]), rest, edit)
  return Array.isArray(document) ? document.with(Number(key), child) : { ...(document as Fields), [key]: child }
}

function add(document: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value
  return change(document, path, (parent, key) => {
    if (Array.isArray(parent))
      return parent.toSpliced(key === '-' ? parent.length : indexIn(parent, key, parent.length), 0, value)
    if (!isObject(parent)) throw new PatchError(`${asPointer(path)} leads nowhere`)
    return { ...parent, [key]: value }
  })
}

function remove(document: unknown, path: readonly string[]): unknown {
  look(document, path)
  if (path.length === 0) throw new PatchError('the whole document cannot be removed')
  return change(document, path, (parent, key) => {
    if (Array.isArray(parent)) return parent.toSpliced(Number(key), 1)
    return without(parent as Fields, key)
  })
}

function replace(document: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) return value
  return change(document, path, (parent, key) =>
    Array.isArray(parent) ? parent.with(Number(key), value) : { ...(parent as Fields), [key]: value },
  )
}

export const without = (object: Fields, key: string): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))

/** A patch that makes `to` of `from`. What is `undefined` in an object is not there, as in JSON. */
export function makePatch(from: unknown, to: unknown): PatchOperation[] {
  const patch: PatchOperation[] = []
  compare(from, to, [], patch)
  return patch
}

function compare(from: unknown, to: unknown, path: string[], patch: PatchOperation[]): void {
  if (Object.is(from, to)) return
  if (Array.isArray(from) && Array.isArray(to)) return compareLists(from, to, path, patch)
  if (!isObject(from) || !isObject(to)) {
    if (!isEqual(from, to)) patch.push({ op: 'replace', path: asPointer(path), value: to })
    return
  }
  for (const key of Object.keys(from))
    if (own(from, key) !== undefined && own(to, key) === undefined)
      patch.push({ op: 'remove', path: asPointer([...path, key]) })
  for (const [key, value] of Object.entries(to)) {
    if (value === undefined) continue
    const known = own(from, key)
    if (known === undefined) patch.push({ op: 'add', path: asPointer([...path, key]), value })
    else compare(known, value, [...path, key], patch)
  }
}

/** What is alike at both ends stays; in between, places are compared one by one, and the rest is added or removed. */
function compareLists(from: unknown[], to: unknown[], path: string[], patch: PatchOperation[]): void {
  let start = 0
  while (start < from.length && start < to.length && isEqual(from[start], to[start])) start += 1
  let end = 0
  const room = Math.min(from.length, to.length) - start
  while (end < room && isEqual(from[from.length - 1 - end], to[to.length - 1 - end])) end += 1
  const both = Math.min(from.length, to.length) - end
  for (let at = start; at < both; at += 1) compare(from[at], to[at], [...path, String(at)], patch)
  for (let at = from.length - end - 1; at >= both; at -= 1)
    patch.push({ op: 'remove', path: asPointer([...path, String(at)]) })
  for (let at = both; at < to.length - end; at += 1)
    patch.push({ op: 'add', path: asPointer([...path, String(at)]), value: to[at] })
}

/** Whether two JSON values say the same. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, at) => isEqual(item, b[at]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = definedKeys(a)
  return keys.length === definedKeys(b).length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
}

const definedKeys = (object: Fields) => Object.keys(object).filter((key) => object[key] !== undefined)

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
