// The golden sequences of AG-UI: the clients installed here do with them what is written there, and the daemon sends only what is accepted.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, describe, test } from 'node:test'

import { SCRIPTS, cases, frames, plain, sse } from './golden.js'
import { Daemon } from '../support/daemon.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

const LEFT_OUT = {
  'stream-socket-cut': 'the client leaves a rejection behind that nobody can handle, which ends the test',
  'proto-stream': 'the binary form, which the daemon does not send',
  'proto-with-charset': 'the binary form, which the daemon does not send',
}

const call = { id: 'c1', role: 'assistant', toolCalls: [{ id: 'c1', type: 'function', function: { name: 'Bash', arguments: '{}' } }] }
const asked = { id: 'i1', reason: 'tool_call', toolCallId: 'c1' }
const expired = { ...asked, expiresAt: '2020-01-01T00:00:00Z' }

/** What the client had before, where it was more than a message. */
const BEFORE = {
  'resume-answer': { messages: [call], interrupts: [asked] },
  'resume-missing': { interrupts: [asked] },
  'resume-expired': { interrupts: [expired] },
  'resume-expired-cancelled': { interrupts: [expired] },
  'resume-restarts-tool': { messages: [call] },
  'state-delta-before-snapshot': { known: { y: 0 } },
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const nameless = (value) => JSON.parse(JSON.stringify(plain(value)).replace(UUID, 'UUID'))

function answer(line, input, response) {
  if (line.http) return response.writeHead(line.http.status, { 'content-type': 'application/json' }).end(line.http.body || undefined)
  response.writeHead(200, { 'content-type': line.case === 'content-type-json' ? 'application/json' : 'text/event-stream' })
  if (line.rawSse) return response.end(line.rawSse)
  const named = JSON.stringify(line.events).replaceAll('"$T"', JSON.stringify(input.threadId)).replaceAll('"$R"', JSON.stringify(input.runId))
  const events = JSON.parse(named)
  // The client leaves before the rest.
  if (line.case === 'abort') return response.write(sse(events.slice(0, 2)))
  return response.end(sse(events))
}

for (const [name, version] of [
  ['ag-ui-1', '1.0.0'],
  ['ag-ui-0', '0.0.59'],
]) {
  describe(`golden: ${name}`, async () => {
    const [{ HttpAgent }, all] = await Promise.all([import(name), cases(`ag-ui-${version}`)])

    test('the client does with every case what is written there', async (t) => {
      t.mock.method(console, 'warn', () => {})
      t.mock.method(console, 'error', () => {})
      let line, request
      const server = createServer((incoming, response) => {
        let body = ''
        incoming.on('data', (piece) => (body += piece))
        incoming.on('end', () => {
          request = JSON.parse(body)
          answer(line, request, response)
        })
      })
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      try {
        for (line of all.filter((line) => !(line.case in LEFT_OUT))) {
          const { messages = [], interrupts = [], known = {} } = BEFORE[line.case] ?? {}
          const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: 't1' })
          agent.setMessages([{ id: 'u1', role: 'user', content: 'hi' }, ...messages])
          agent.setState(known)
          agent.pendingInterrupts = interrupts
          const leave = line.case === 'abort' ? { onTextMessageStartEvent: () => agent.abortRun() } : {}
          const run = await agent.runAgent({ runId: 'r1', ...line.runAgentParameters }, leave).catch(() => null)
          assert.equal(run === null, line.verdict === 'rejected', line.case)
          const { messages: held, state, pendingInterrupts } = agent
          // What is kept of a run that is refused depends on the pieces in which it arrived.
          if (run) assert.deepEqual(nameless({ messages: held, state, pendingInterrupts, result: run.result }), line.after, line.case)
          if (line.request) assert.deepEqual(request, line.request.body, line.case)
        }
      } finally {
        server.closeAllConnections()
        server.close()
      }
    })

    test('the daemon sends only kinds that are accepted', async () => {
      const accepted = new Set(all.filter((line) => line.verdict === 'accepted').flatMap((line) => line.events ?? []).map(({ type }) => type))
      const outcomes = version === '1.0.0' ? ['success', 'interrupt', 'cancelled', undefined] : ['interrupt', undefined]
      for (const script of SCRIPTS) {
        const id = `golden-${name}-${script.replaceAll(' ', '-')}`
        await daemon.session(id)
        const input = { threadId: id, runId: 'r1', messages: [{ id: 'u1', role: 'user', content: script }] }
        if (version === '1.0.0') input.protocolVersion = '1.0'
        const events = await frames(daemon, `/ag-ui/${id}`, input)
        for (const event of events) assert.ok(accepted.has(event.type), `${script}: ${JSON.stringify(event)}`)
        assert.ok(outcomes.includes(events.at(-1).outcome?.type), JSON.stringify(events.at(-1)))
      }
    })
  })
}
