// Every piece of TypeScript and JavaScript that the documentation shows: with its types checked, and run with the real packages.
// A file in `frames` is what a reader would have around a block: a line `//@ PAGE: BEGINNING` stands where the block goes.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import ts from 'typescript'

import { here } from './daemon.js'
import { claim, find } from './pages.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const TO_JAVASCRIPT = { jsx: ts.JsxEmit.ReactJSX, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }

/** A frame with its blocks in it. Where a page leaves out what to do with each piece, nothing is done, until it is enough. */
function filled(frame) {
  return frame.replace(/^( *)\/\/@ ([^:]+): (.+)$/gm, (_, indent, page, beginning) => {
    const { lines } = claim(find(page, beginning))
    return lines.map((line) => indent + line.replace('{ … }', '{ if (enough()) break }')).join('\n')
  })
}

await rm(`${folder}made`, { recursive: true, force: true })
await mkdir(`${folder}made`)
const runnable = []
for (const name of (await readdir(`${folder}frames`)).sort()) {
  const text = here(filled(await readFile(`${folder}frames/${name}`, 'utf8')))
  await writeFile(`${folder}made/${name}`, text)
  // One that tests nothing is for another program; only its types are looked at.
  if (!text.includes('export default async function')) continue
  runnable.push(name)
  await writeFile(`${folder}made/${name.replace(/\.tsx?$/, '.js')}`, ts.transpile(text, TO_JAVASCRIPT, name))
}

/** What the compiler says; it goes on beside the other tests. */
const judged = new Promise((resolve) => {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  execFile(process.execPath, [compiler, '--project', folder], (_, said) => resolve(said))
})

describe('snippets', () => {
  for (const name of runnable) test(name, async (t) => (await import(`./made/${name.replace(/\.tsx?$/, '.js')}`)).default(t))
  test('have the right types', async () => assert.equal(await judged, ''))
})
