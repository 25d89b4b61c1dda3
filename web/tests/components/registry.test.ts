// The registry that the daemon serves, and what the page makes of it.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { misfit } from '../../src/lib/components/schema'
import { hasSkeleton, isBuiltin } from '../../src/ui/components/builtin'
import { EXAMPLES } from '../gallery/examples'

interface Entry {
  name: string
  has_loading_state: boolean
  props: unknown
}
const read = <T>(name: string): T[] =>
  readFileSync(new URL(`../../../crates/core/src/component/${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T)
const entries = read<Entry>('builtin')
const entryOf = (name: string) => entries.find((entry) => entry.name === name)

describe('every built-in component', () => {
  it.each(entries.map(({ name, has_loading_state }) => [name, has_loading_state]))(
    '%s is drawn by this page',
    (name, loads) => {
      expect(isBuiltin(String(name))).toBe(true)
      expect(hasSkeleton(String(name))).toBe(loads)
      expect(EXAMPLES.some((example) => example.name === name)).toBe(true)
    },
  )
  it('and no other name is', () => {
    for (const name of ['hologram', 'constructor', '__proto__', '']) expect(isBuiltin(name)).toBe(false)
  })
})

/** The daemon adds these to every schema it serves. */
const COMMON = {
  title: { type: 'string', maxLength: 200 },
  actions: { type: 'array', items: { type: 'object', required: ['action', 'label'] } },
}
const served = (name: string) => {
  const schema = entryOf(name)?.props as { properties?: object }
  return { ...schema, properties: { ...schema.properties, ...COMMON } }
}

it.each(
  read<{ name: string; props: unknown; misfit?: string }>('examples').map(
    (example, at) => [at, example.name, example] as const,
  ),
)('example %i, of %s, is judged as the daemon judges it', (_, name, example) =>
  expect(misfit(example.props, served(name)) !== undefined).toBe(example.misfit !== undefined),
)
