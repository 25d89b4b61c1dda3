// The golden sequences: the clients installed here accept and refuse what is written there, and the daemon sends only what is accepted.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'

import { Daemon } from './support.js'

const SCRIPTS = [
  'echo hello', 'markdown', 'tool', 'parallel', 'parallel permission', 'subagent permission', 'status', 'image', 'permission', 'question', 'plan', 'diff',
  'subagent', 'background', 'component', 'interrupt', 'state', 'artifact', 'compaction', 'retract', 'error', 'end', 'big 50000', 'crash', 'garbage',
]

async function lines(name) {
  const text = await readFile(new URL(`golden/${name}.jsonl`, import.meta.url), 'utf8')
  return text.trim().split('\n').map((line) => JSON.parse(line))
}

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

async function frames(path, body) {
  const headers = { ...daemon.headers, 'content-type': 'application/json' }
  const response = await fetch(daemon.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const data = text.split('\n\n').filter((frame) => frame.startsWith('data: '))
  return data.map((frame) => frame.slice(6)).filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame))
}

/** Data parts are named by the application. */
const kindOf = ({ type }) => (type.startsWith('data-') ? 'data-' : type)

for (const major of [5, 6, 7]) {
  describe(`golden: ai ${major}`, async () => {
    const [ai, react, cases] = await Promise.all([import(`ai-${major}`), import(`ai-react-${major}`), lines(`ai-sdk-${major}`)])
    // Those of one plain response; the others are played by the tests of the real thing. Whether a member that is missing counts as one that may be
    // anything is decided by the version of the client's validator, not by the client.
    const plain = cases.filter((line) => line.chunks && !/^(resume|stop|socket|regenerate|send-while|data-part-no-data)/.test(line.case))

    test('the client agrees with every verdict', async () => {
      for (const line of plain) {
        const body = line.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')
        const chat = new react.Chat({
          transport: new ai.DefaultChatTransport({ api: 'http://golden', fetch: async () => new Response(`${body}data: [DONE]\n\n`) }),
        })
        await chat.sendMessage({ text: 'hi' })
        assert.equal(chat.status === 'error' ? 'rejected' : 'accepted', line.verdict, line.case)
      }
      assert.ok(plain.length > 50)
    })

    test('the daemon sends only kinds that are accepted', async () => {
      const all = cases.filter((line) => line.verdict === 'accepted')
      const accepted = new Set(all.flatMap((line) => line.chunks ?? line.responses?.flatMap(({ chunks }) => chunks ?? []) ?? []).map(kindOf))
      // Shown as an error, which is what it is for.
      accepted.add('error')
      for (const script of SCRIPTS) {
        const id = `golden-${major}-${script.replaceAll(' ', '-')}`
        const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: script }] }
        for (const chunk of await frames(`/ai-sdk/chat?v=${major}`, { id, message, params: { pace_ms: 0 } })) {
          assert.ok(accepted.has(kindOf(chunk)), `${script}: ${JSON.stringify(chunk)}`)
        }
      }
    })
  })
}

for (const [name, version] of [
  ['ag-ui-1', '1.0.0'],
  ['ag-ui-0', '0.0.59'],
]) {
  describe(`golden: ${name}`, async () => {
    const [{ HttpAgent }, cases] = await Promise.all([import(name), lines(`ag-ui-${version}`)])
    const special = /^(stream-socket-cut|resume|http|abort|proto|content-type|replay-interrupt)/
    const plain = cases.filter((line) => line.events && !line.runAgentParameters && !special.test(line.case))

    test('the client agrees with every verdict', async (t) => {
      t.mock.method(console, 'warn', () => {})
      t.mock.method(console, 'error', () => {})
      let line
      const server = createServer((request, response) => {
        let body = ''
        request.on('data', (piece) => (body += piece))
        request.on('end', () => {
          const { threadId, runId } = JSON.parse(body)
          const events = JSON.stringify(line.events).replaceAll('"$T"', JSON.stringify(threadId)).replaceAll('"$R"', JSON.stringify(runId))
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.end(JSON.parse(events).map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
        })
      })
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      try {
        for (line of plain) {
          const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: 't1' })
          agent.addMessage({ id: 'u1', role: 'user', content: 'hi' })
          const failed = await agent.runAgent({ runId: 'r1' }).then(
            () => false,
            () => true,
          )
          assert.equal(failed, line.verdict === 'rejected', line.case)
        }
      } finally {
        server.closeAllConnections()
        server.close()
      }
      assert.ok(plain.length > 80)
    })

    test('the daemon sends only kinds that are accepted', async () => {
      const accepted = new Set(cases.filter((line) => line.verdict === 'accepted').flatMap((line) => line.events ?? []).map(({ type }) => type))
      const outcomes = version === '1.0.0' ? ['success', 'interrupt', 'cancelled', undefined] : ['interrupt', undefined]
      for (const script of SCRIPTS) {
        const id = `golden-${name}-${script.replaceAll(' ', '-')}`
        await daemon.session(id)
        const input = { threadId: id, runId: 'r1', messages: [{ id: 'u1', role: 'user', content: script }] }
        if (version === '1.0.0') input.protocolVersion = '1.0'
        const events = await frames(`/ag-ui/${id}`, input)
        for (const event of events) assert.ok(accepted.has(event.type), `${script}: ${JSON.stringify(event)}`)
        assert.ok(outcomes.includes(events.at(-1).outcome?.type), JSON.stringify(events.at(-1)))
      }
    })
  })
}
