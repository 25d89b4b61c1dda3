// The SDK is compiled with the page, from its sources: what one compiler takes, the other has to take as well.

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

it('is compiled by the TypeScript that compiles the page', async () => {
  const versions = await Promise.all(
    ['../package-lock.json', '../../sdk/typescript/package-lock.json'].map(async (path) => {
      const lock = JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8')) as {
        packages: Record<string, { version: string }>
      }
      return lock.packages['node_modules/typescript']?.version
    }),
  )
  expect(versions[0]).toMatch(/^\d/)
  expect(versions[1]).toBe(versions[0])
})
