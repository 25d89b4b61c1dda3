// The example that newcomers copy: its types are right, and it does what it says.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { fixture } from './support.js'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('..', import.meta.url))
const the = fixture()

/** Inside of the package, so that it finds it by its name. */
async function example(t, extension, edit = (code) => code) {
  const readme = await readFile(`${folder}README.md`, 'utf8')
  const [, code] = readme.match(/```ts\n(.*?)```/s)
  const file = `${folder}dist/example-of-the-readme.${extension}`
  await writeFile(file, edit(code))
  t.after(() => rm(file))
  return file
}

test('the example runs', async (t) => {
  const edit = (code) => code.replace('http://127.0.0.1:7171', the.daemon.url).replace('TOKEN', the.daemon.token)
  const { stdout } = await run(process.execPath, [await example(t, 'mjs', edit)])
  assert.deepEqual(stdout.trim().split('\n'), [
    'completed Done, with your permission.',
    'user permission',
    'agent Done, with your permission.',
    'session_not_found 404',
  ])
})

test('the example has the right types', async (t) => {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
  ]
  await run(process.execPath, [compiler, ...options, await example(t, 'mts')])
})
