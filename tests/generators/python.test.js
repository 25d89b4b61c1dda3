// A client that openapi-python-client makes from the document that the daemon serves works with the daemon.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { Daemon } from '../support/daemon.js'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const made = `${here}generated`
/** Where the packages of requirements.txt are. */
const packages = process.env.TURNLOOM_PYTHON_PACKAGES

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

test('openapi-python-client', async () => {
  await mkdir(made, { recursive: true })
  const document = await (await fetch(`${daemon.url}/api/openapi.json`)).text()
  await writeFile(`${made}/openapi.json`, document)
  // The settings that a reader is told to use.
  const page = await readFile(`${here}../../docs/api.md`, 'utf8')
  const [, settings] = page.match(/```yaml\n(content_type_overrides:.*?)```/s)
  await writeFile(`${made}/config.yml`, `project_name_override: turnloom-client\npackage_name_override: turnloom_client\npost_hooks: []\n${settings}`)
  const env = { ...process.env, PYTHONPATH: `${packages}:${made}` }
  const generate = ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json', '--config', 'config.yml', '--meta', 'none', '--overwrite', '--output-path', 'turnloom_client']
  const { stdout, stderr } = await run('python3', generate, { cwd: made, env })
  // It leaves out what it does not understand, and says so.
  assert.ok(!/WARNING|ERROR|unable|skipp/i.test(stdout + stderr), stdout + stderr)
  const talked = await run('python3', [`${here}client.py`, daemon.url, daemon.token], { env })
  assert.match(talked.stdout, /Done, with your permission\./)
})
