// Lists that the documentation keeps of what the code has.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { Turnloom } from 'turnloom'

import { daemon, eventually } from './daemon.js'
import { pages, ROOT } from './pages.js'

const textOf = (name) => pages.find(({ page }) => page === name).text
const json = async (path) => JSON.parse(await readFile(join(ROOT, path), 'utf8'))

/** What stands in code in a column of a page's tables. */
function column(text, number) {
  const rows = text.split('\n').filter((line) => line.startsWith('| '))
  return rows.flatMap((row) => [...(row.split(' | ')[number] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name))
}

test('every setting is listed', async () => {
  const { properties, $defs } = await json('docs/reference/config.schema.json')
  const tables = ['claude', 'codex', 'roles', 'components', 'views', 'budgets', 'delegation']
  const settings = [properties, ...['Program', 'Roles', 'Components', 'Views', 'Budgets', 'Delegation'].map((name) => $defs[`${name}Config`].properties)].flatMap((group) => Object.keys(group))
  const listed = column(textOf('docs/configuration.md'), 0)
  assert.deepEqual(settings.filter((name) => !tables.includes(name) && !listed.some((shown) => shown.split(/\W/).includes(name))), [])
})

test('every call of the SDK that is listed is there, and every one that is there is listed', () => {
  const calls = column(textOf('docs/sdk.md').split('## Calls')[1].split('## Streams')[0], 1)
  assert.ok(calls.length > 40)
  const turnloom = new Turnloom()
  assert.deepEqual(calls.filter((name) => typeof turnloom[name] !== 'function'), [])
  const there = Object.getOwnPropertyNames(Turnloom.prototype).filter((name) => name !== 'constructor')
  assert.deepEqual(there.filter((name) => !textOf('docs/sdk.md').includes(`\`${name}`)), [])
})

test('every metric that is listed is told, and every one that is told is listed', async () => {
  // Something of each has to have happened.
  await daemon.call('POST', '/api/timings', { timings: [{ step: 'open_to_shell', ms: 1 }] })
  await daemon.call('POST', '/api/channels', { name: 'metrics', kind: 'bearer', runtime: 'mock', respond_seconds: 30, secret: { value: 'm' } })
  await daemon.call('POST', '/api/webhooks', { url: 'http://localhost:9/', sessions: ['metrics'] })
  const delivered = await fetch(`${daemon.url}/hooks/metrics`, { method: 'POST', headers: { authorization: 'Bearer m' }, body: '{"message":"echo hello"}' })
  assert.equal((await delivered.json()).answer, 'hello')
  await daemon.session('metrics')
  await daemon.call('POST', '/api/sessions/metrics/message', { message: 'echo hello' })
  await eventually('a turn ends', async () => (await daemon.events('metrics')).some(({ type }) => type === 'done'))
  await eventually('a webhook was tried', async () => (await daemon.call('GET', '/api/webhooks')).webhooks.some(({ failed }) => failed > 0))
  const told = await (await fetch(`${daemon.url}/metrics`, { headers: daemon.headers })).text()
  const listed = column(textOf('docs/operations.md'), 0).map((name) => name.replace(/\{.*/, '').replace(/_total$/, ''))
  assert.ok(listed.length > 10)
  assert.deepEqual(listed.filter((name) => !told.includes(`# TYPE ${name} `)), [])
  const names = [...told.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
  assert.deepEqual(names.filter((name) => !listed.includes(name)), [])
})

test('the clients that were tried are those of the tests', async () => {
  const [tried] = textOf('docs/dialects.md').split('## What was tried')[1].split('\n## ')
  const assistant = textOf('docs/assistant-ui.md')
  const folders = { 'tests/clients': [tried], 'tests/assistant-ui': [tried, assistant] }
  for (const [folder, texts] of Object.entries(folders)) {
    const { devDependencies } = await json(`${folder}/package.json`)
    for (const [name, version] of Object.entries(devDependencies)) {
      const number = version.split('@').at(-1)
      if (!/^(ai|ag-ui|ai-react)-\d|^@(copilotkit|assistant-ui)\//.test(name)) continue
      for (const text of texts) assert.ok(text.includes(number), `${name} ${number} of ${folder}`)
    }
  }
  // What the page shows is run with the same versions.
  const { devDependencies: ours } = await json('tests/docs/package.json')
  const { devDependencies: theirs } = await json('tests/assistant-ui/package.json')
  for (const name of Object.keys(theirs)) assert.equal(ours[name], theirs[name], name)
})
