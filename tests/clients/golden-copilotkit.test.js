// The golden sequences of CopilotKit: its core, as it is installed here, does with them what is written there.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'

import { cases, gate, plain, sse } from './golden.js'
import { eventually } from '../support/daemon.js'

// It looks for agents only where there is a page.
globalThis.window ??= globalThis
const { CopilotKitCore } = await import('@copilotkit/core')

/** The stand-in had no such route. The daemon has; see the tests with the daemon. */
const LEFT_OUT = ['single-route']

const run = (...events) => [{ type: 'RUN_STARTED', threadId: 't1', runId: 'r2' }, ...events, { type: 'RUN_FINISHED', threadId: 't1', runId: 'r2' }]
const text = (messageId, delta) => [
  { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
  { type: 'TEXT_MESSAGE_END', messageId },
]
/** What the second request was told, where it was something else; the recordings have only what came of it. */
const THEN = { 'connect-resolved-elsewhere': run(...text('m0', 'a')), 'run-frontend-tool': run(...text('m2', 'thanks')) }

const say = (agent) => agent.addMessage({ id: 'u1', role: 'user', content: 'hi' })
const twice = async ({ core, agent }) => {
  await core.connectAgent({ agent })
  await core.connectAgent({ agent })
}

/** What was done with it, where it was not one call that the case is named after. */
const SCENES = {
  'info-discovery': async () => {},
  'connect-twice': twice,
  'connect-literal-replay-twice': twice,
  'connect-again-while-pending': twice,
  'connect-resolved-elsewhere': async ({ core, agent }) => {
    await core.connectAgent({ agent })
    // Whoever shows the thread lets go of what was asked.
    agent.pendingInterrupts = []
    await core.connectAgent({ agent })
  },
  'run-resume': async ({ core, agent }) => {
    await core.connectAgent({ agent })
    await core.runAgent({ agent, resume: [{ interruptId: 'i1', status: 'resolved', payload: { approved: true } }] })
  },
  run: async ({ core, agent }) => {
    say(agent)
    await core.runAgent({ agent })
  },
  'run-frontend-tool': async ({ core, agent }) => {
    say(agent)
    core.addTool({ name: 'pick', description: 'pick', handler: async () => 'blue' })
    await core.runAgent({ agent })
    await eventually('the second run', () => agent.messages.at(-1)?.id === 'm2')
  },
  'run-409': ({ core, agent }) => core.runAgent({ agent }).catch(() => {}),
  'stop-with-terminal': ({ core, agent }) => core.runAgent({ agent }).catch(() => {}),
  stop: async ({ core, agent, requests, later }) => {
    later.push(core.runAgent({ agent }))
    await eventually('it runs', () => agent.messages.some(({ id }) => id === 'm1'))
    core.stopAgent({ agent })
    await eventually('it was told', () => requests.some(({ url }) => url.includes('/stop/')))
  },
  'connect-live-tail': async ({ core, agent, door }) => {
    const connected = core.connectAgent({ agent })
    await eventually('the first part', () => agent.messages.at(-1)?.content === 'par')
    door.open()
    await connected
  },
}

let server, line, door, requests
before(async () => {
  server = createServer((incoming, response) => {
    let body = ''
    incoming.on('data', (piece) => (body += piece))
    incoming.on('end', () => answer(incoming, body === '' ? null : JSON.parse(body), response))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
})
after(() => {
  server.closeAllConnections()
  server.close()
})

async function answer({ method, url }, body, response) {
  const kind = /\/(run|connect|stop|info)/.exec(url)[1]
  const again = requests.some((known) => known.url === url)
  requests.push({ method, url, body })
  const json = (status, value) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (kind === 'info') return json(200, { version: '1.75.0', agents: { daemon: { name: 'daemon', description: '' } }, audioFileTranscriptionEnabled: false, mode: 'sse' })
  if (kind === 'stop') return json(200, { stopped: true })
  const { server: told } = line
  if (kind === 'run' && told.runStatus) return json(told.runStatus, { error: 'x' })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(sse((again && THEN[line.case]) || told[kind] || []))
  if (told.runHang || told.connectHold) {
    await door.opened
    response.write(sse(told.connectHold ?? [{ type: 'TEXT_MESSAGE_END', messageId: 'm1' }, { type: 'RUN_FINISHED', threadId: 't1', runId: 'r' }]))
  }
  response.end()
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

test('golden: CopilotKit does with every case what is written there', async (t) => {
  t.mock.method(console, 'warn', () => {})
  t.mock.method(console, 'error', () => {})
  for (line of (await cases('copilotkit-core-1.75.0')).filter(({ case: name }) => !LEFT_OUT.includes(name))) {
    ;[door, requests] = [gate(), []]
    const errors = []
    const core = new CopilotKitCore({ runtimeUrl: `http://127.0.0.1:${server.address().port}/cpk` })
    core.subscribe({ onError: ({ error, code }) => void errors.push(`${code}: ${error.message}`) })
    const agent = await eventually('the agent is known', () => core.getAgent('daemon'))
    agent.threadId = 't1'
    const scene = SCENES[line.case] ?? (({ core, agent }) => core.connectAgent({ agent }))
    const later = []
    await scene({ core, agent, door, requests, later })
    assert.equal(errors.length > 0 ? 'rejected' : 'accepted', line.verdict, `${line.case}: ${errors}`)
    const asked = (list) => list.map(({ method, url }) => `${method} ${url}`)
    await eventually('every request', () => requests.length >= line.requests.length)
    assert.deepEqual(asked(requests), asked(line.requests), line.case)
    if (line.after) {
      const { messages, state, isRunning, pendingInterrupts } = agent
      const held = JSON.parse(JSON.stringify(plain({ messages, state, isRunning, pendingInterrupts })).replace(UUID, 'UUID'))
      assert.deepEqual(held, line.after, line.case)
    }
    door.open()
    await Promise.all(later)
  }
})
