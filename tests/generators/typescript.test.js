// A client whose types are made by openapi-typescript from the document that the daemon serves: it compiles, and it works.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import openapiTS, { astToString } from 'openapi-typescript'

import { Daemon } from '../support/daemon.js'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const made = `${here}generated`

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

test('openapi-typescript', async () => {
  // Without a token: whoever writes a client need not have a session.
  const document = await (await fetch(`${daemon.url}/api/openapi.json`)).json()
  await mkdir(made, { recursive: true })
  await writeFile(`${made}/api.d.ts`, astToString(await openapiTS(document)))
  const options = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', '--outDir', made]
  const compiled = await run('npx', ['tsc', ...options, 'client.ts'], { cwd: here }).catch((error) => error)
  assert.equal(compiled.stdout, '')
  const { talk } = await import(`${made}/client.js`)
  const { answer, waiting, kinds } = await talk(daemon.url, daemon.token)
  assert.equal(answer, 'Done, with your permission.')
  assert.equal(waiting, 1)
  assert.ok(kinds.includes('permission_resolved'), kinds)
  // Every type of event has a type of its own.
  const types = await readFile(`${made}/api.d.ts`, 'utf8')
  for (const name of ['DeltaEvent', 'PermissionRequestEvent', 'DoneEvent']) assert.ok(types.includes(`${name}: {`), name)
})
