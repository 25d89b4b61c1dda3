// A connection that is cut at every event: nothing is lost and nothing comes twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Turnloom } from 'turnloom'

import { CuttingProxy, QUICK, answer, asStreamed, fixture } from './support.js'

const the = fixture()

/** A client whose every stream is cut after one event. */
async function cutting(t, events = 1) {
  const proxy = await CuttingProxy.start(the.daemon.url, { events })
  t.after(() => proxy.stop())
  const client = new Turnloom({ url: proxy.url, token: the.daemon.token })
  return { proxy, client, options: { reconnect: QUICK } }
}

const log = async (id) => (await the.client.getEvents(id, { limit: 10_000 })).events

test('the log', async (t) => {
  const { proxy, client, options } = await cutting(t)
  const id = await the.session()
  await the.client.postMessage(id, 'demo')
  const seen = []
  for await (const event of client.streamEvents(id, options)) {
    seen.push(event)
    await answer(the.client, event)
    if (event.type === 'done') break
  }
  assert.deepEqual(seen, await log(id))
  assert.ok(seen.length > 100)
  assert.ok(proxy.connections >= seen.length, `${proxy.connections} connections for ${seen.length} events`)
})

test('a part of the log', async (t) => {
  const { client, options } = await cutting(t)
  const id = await the.session()
  for await (const _ of the.client.streamTurn(id, 'stream 40')) void _
  const deltas = (await log(id)).filter(({ type }) => type === 'delta')
  const seen = []
  for await (const event of client.streamEvents(id, { after: deltas[3].seq, types: ['delta'], ...options })) {
    seen.push(event)
    if (seen.length === deltas.length - 4) break
  }
  assert.deepEqual(seen, deltas.slice(4))
})

test('a turn, whose message is taken once although its receipt was lost', async (t) => {
  const { proxy, client, options } = await cutting(t)
  const id = await the.session()
  const receipts = []
  const seen = []
  for await (const event of client.streamTurn(id, 'demo', {
    ...options,
    onAccepted: (receipt) => receipts.push(receipt),
  })) {
    seen.push(event)
    await answer(the.client, event)
  }
  const events = await log(id)
  const turn = events.find(({ type }) => type === 'turn_started').turn_id
  assert.deepEqual(
    seen,
    events.filter((event) => event.turn_id === turn),
  )
  assert.equal(seen.at(-1).data.outcome, 'completed')
  assert.deepEqual(
    events.filter(({ type }) => type === 'user_message').map(({ data }) => data.message_id),
    [receipts[0].message_id],
  )
  assert.equal(receipts.length, 1)
  assert.ok(proxy.connections >= seen.length)
})

test('a view', async (t) => {
  const { proxy, client, options } = await cutting(t)
  const id = await the.session({ pace_ms: 4 })
  const turn = (async () => {
    for await (const event of the.client.streamTurn(id, 'demo')) await answer(the.client, event)
  })()
  let held
  for await (const view of client.streamView(id, options)) {
    assert.ok(held === undefined || held === view, 'it is always the same object')
    held = view
    if (view.messages.at(-1)?.outcome) break
  }
  await turn
  assert.deepEqual(held, asStreamed(await the.client.getView(id)))
  assert.ok(proxy.connections > 10, `only ${proxy.connections} connections`)
})
