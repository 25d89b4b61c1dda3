// The script, as a person runs it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { Daemon } from '../../tests/support/daemon.js'

const SCRIPT = fileURLToPath(new URL('../curl/chat.sh', import.meta.url))
const run = promisify(execFile)

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

test('an answer as text, and a turn as events with a permission in it', async () => {
  // The token is found in the data directory.
  const env = { ...process.env, TURNLOOM_URL: daemon.url, TURNLOOM_DATA: daemon.data }
  const { stdout } = await run(SCRIPT, ['echo hello there'], { env })
  const [text, events] = stdout.split('--- a turn, as events\n')
  assert.equal(text.trim(), '--- the answer, as it comes\nhello there')
  assert.match(events, /^event: accepted\n/)
  assert.match(events, /event: permission_request\n +it asks: ask_\S+\n\{"resolved":true,"seq":\d+\}\n/)
  assert.match(events, /event: done\n$/)
})

test('a wrong token is said', async () => {
  const env = { ...process.env, TURNLOOM_URL: daemon.url, TURNLOOM_TOKEN: 'wrong' }
  const failure = await run(SCRIPT, [], { env }).catch((error) => error)
  assert.equal(failure.code, 22)
  assert.match(failure.stdout + failure.stderr, /401/)
})
