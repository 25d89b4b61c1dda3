// Every request and every frame that the documentation shows, sent.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { daemon, eventually, home, shell } from './daemon.js'
import { blocks, claim, find, requests } from './pages.js'

let sessions = 0
const newId = () => `doc-${++sessions}`

/** What is in the place of a name in capital letters. */
const NAMES = {
  '/permissions/ASK': (id) => asked(id, 'permission'),
  '/questions/ASK': (id) => asked(id, 'question'),
  '/interrupt/ASK': (id) => asked(id, 'interrupt'),
  '/tool-results/TOOL_USE': async (id) => (await ask(id, 'client get_weather')).request.tool_use_id,
  '/components/COMPONENT': async (id) => {
    await say(id, 'buttons')
    const shown = () => daemon.events(id).then((events) => events.find(({ type }) => type === 'component_update'))
    return (await eventually('a component', shown)).data.component_id
  },
}

const say = (id, message) => daemon.call('POST', `/api/sessions/${id}/message`, { message })

async function ask(id, message) {
  await say(id, message)
  return eventually('an ask', () => daemon.ask(id))
}

const asked = async (id, message) => (await ask(id, message)).ask_id

describe('requests', () => {
  for (const block of blocks.filter(({ language }) => language === 'console')) {
    for (const { method, path, rest } of requests(block)) {
      test(`${block.page}: ${method} ${path}`, async () => {
        const id = newId()
        const makes = path === '/api/sessions'
        if (!makes) await daemon.session(id, { client_tools: [{ name: 'get_weather' }] })
        let address = path.replace('/mine', `/${id}`)
        const named = Object.keys(NAMES).find((name) => path.includes(name))
        if (named) address = address.replace(/[A-Z_]{3,}/, await NAMES[named](id))
        // What stands behind the body is for the reader.
        const body = method === 'GET' ? undefined : JSON.parse(rest.match(/^(\{.*?\}|\[.*?\])(?=\s{2,}|$)/)[1])
        if (makes) body.session_id = id
        const accept = rest.match(/Accept: (\S+)/)?.[1]
        const headers = { ...daemon.headers, 'content-type': 'application/json', ...(accept && { accept }) }
        const stop = new AbortController()
        const response = await fetch(daemon.url + address, { method, headers, body: body && JSON.stringify(body), signal: stop.signal })
        assert.ok(response.ok, `${response.status} ${response.ok ? '' : await response.text()}`)
        if (accept) assert.ok(response.headers.get('content-type').startsWith(accept))
        stop.abort()
      })
    }
  }
})

const ops = claim(find('docs/api.md', '{"op":"subscribe"')).lines.map((line) => JSON.parse(line))

test('the ops of the WebSocket', async (t) => {
  const { channels } = await (await fetch(`${daemon.url}/api/asyncapi.json`)).json()
  for (const { op } of ops) assert.ok(op in channels.socket.messages, op)
  const id = newId()
  await daemon.session(id)
  const token = Buffer.from(daemon.token).toString('base64url')
  const socket = new WebSocket(`${daemon.url.replace('http', 'ws')}/api/ws`, ['turnloom', `turnloom.token.${token}`])
  t.after(() => socket.close())
  const heard = []
  socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(data)))
  await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
  for (const shown of ops) {
    const op = { ...shown, ...(shown.session_id && { session_id: id }) }
    if (shown.op === 'answer') op.ask_id = await asked(id, shown.reply ? 'permission' : 'question')
    socket.send(JSON.stringify(op))
    // What was taken is the one thing that is not answered.
    if (!shown.ref) continue
    const answer = await eventually(`an answer to ${JSON.stringify(op)}`, () => heard.find(({ ref, op }) => ref === shown.ref && !['event', 'frame'].includes(op)))
    assert.notEqual(answer.op, 'error', JSON.stringify(answer))
    if (shown.op === 'answer' || shown.op === 'send') await eventually('the turn ends', async () => (await daemon.show(id)).status === 'idle')
  }
  assert.ok(!heard.some(({ op }) => op === 'error'), JSON.stringify(heard))
})

const recording = claim(find('docs/recordings.md', '{"dir":"in"'))

test('a recording can be played', async () => {
  const file = join(home, 'shown.jsonl')
  await writeFile(file, recording.lines.join('\n'))
  const { code, out, err } = await shell(`turnloom replay mock ${file} --check`)
  assert.equal(code, 0, err)
  assert.match(out, /session_ready/)
})

const manifest = claim(find('docs/component-pages.md', '{"title":"Gauge"'))

test('a component of one\'s own is served', async () => {
  const folder = join(daemon.data, 'components', 'gauge')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'component.json'), manifest.lines.join('\n'))
  await writeFile(join(folder, 'index.html'), '<p>A dial')
  const { components, problems } = await daemon.call('POST', '/api/components/reload', {})
  assert.deepEqual(problems, [])
  assert.equal(await (await fetch(daemon.url + components[0].view.url)).text(), '<p>A dial')
})
