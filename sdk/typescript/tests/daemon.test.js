// Streams and a daemon that does not live for ever.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { QUICK, asStreamed, eventually, fixture } from './support.js'

const the = fixture()
const options = { reconnect: QUICK }

test('a daemon is killed and comes back: the streams go on, and the turn has ended', async () => {
  const { client, daemon } = the
  const id = await the.session({ pace_ms: 5 })
  const seen = { events: [], turn: [], view: undefined }
  const log = (async () => {
    for await (const event of client.streamEvents(id, options)) {
      seen.events.push(event)
      if (event.type === 'done') return
    }
  })()
  const turn = (async () => {
    for await (const event of client.streamTurn(id, 'stream 100000 10 200', options)) seen.turn.push(event)
  })()
  const view = (async () => {
    for await (const view of client.streamView(id, options)) {
      seen.view = view
      if (view.messages.at(-1)?.outcome) return
    }
  })()
  await eventually('it talks', () => seen.events.filter(({ type }) => type === 'delta').length > 20)
  await daemon.kill()
  await daemon.again()
  await Promise.all([log, turn, view])
  const { events } = await client.getEvents(id, { limit: 10_000 })
  assert.deepEqual(seen.events, events.slice(0, seen.events.length))
  assert.equal(seen.turn.at(-1).data.outcome, 'interrupted')
  assert.deepEqual(
    seen.turn,
    events.filter(({ turn_id }) => turn_id === seen.turn[0].turn_id),
  )
  assert.deepEqual(seen.view, asStreamed(await client.getView(id)))
})

test('a stream ends by its signal, with the reason, and the turn goes on', async () => {
  const id = await the.session()
  for (const open of [
    (options) => the.client.streamEvents(id, options),
    (options) => the.client.streamView(id, options),
  ]) {
    const leave = new AbortController()
    const reason = new Error('enough')
    const stream = open({ signal: leave.signal })
    assert.ok((await stream.next()).value)
    leave.abort(reason)
    await assert.rejects(
      (async () => {
        for await (const _ of stream) void _
      })(),
      reason,
    )
  }
  const leave = new AbortController()
  const turn = the.client.streamTurn(id, 'hang', { signal: leave.signal })
  assert.equal((await turn.next()).value.type, 'user_message')
  leave.abort()
  await assert.rejects(turn.next(), { name: 'AbortError' })
  assert.equal((await the.client.getSession(id)).status, 'running')
  assert.equal(await the.client.stop(id), true)
})

test('a message that has to wait: its turn is told, not the one before', async () => {
  const id = await the.session()
  await the.client.postMessage(id, 'hang')
  const receipts = []
  const turn = the.client.streamTurn(id, 'echo later', { onAccepted: (receipt) => receipts.push(receipt) })
  const first = turn.next()
  await eventually('it is accepted', () => receipts.length === 1)
  assert.equal(receipts[0].queued, true)
  await the.client.stop(id)
  const events = [(await first).value]
  for await (const event of turn) events.push(event)
  assert.equal(events[0].data.message_id, receipts[0].message_id)
  assert.equal(new Set(events.map(({ turn_id }) => turn_id)).size, 1)
  assert.equal(events.at(-1).data.outcome, 'completed')
})

test('a message that is taken out of the queue, or put away with its session: its turn is not waited for', async () => {
  const { client } = the
  for (const [take, code] of [
    [(id) => client.removeFromQueue(id, 'later'), 'not_queued'],
    [(id) => client.archiveSession(id), 'archived'],
    [(id) => client.deleteSession(id), /archived|session_not_found/],
  ]) {
    const id = await the.session()
    await client.postMessage(id, 'hang')
    const message = { message: 'echo later', message_id: 'later' }
    let gone
    // Its receipt is there before anything else can be done with it.
    const turn = client.streamTurn(id, message, { onAccepted: () => (gone = take(id)) })
    await assert.rejects(turn.next(), { name: 'TurnloomError', code })
    await gone
  }
})

test('a daemon stops in order while a message waits: its turn comes with the next one', async () => {
  const { client, daemon } = the
  const id = await the.session()
  await client.postMessage(id, 'hang')
  const seen = []
  const receipts = []
  const turn = (async () => {
    for await (const event of client.streamTurn(id, 'echo later', {
      ...options,
      onAccepted: (receipt) => receipts.push(receipt),
    })) {
      seen.push(event.type)
    }
  })()
  await eventually('it is accepted', () => receipts.length === 1)
  await daemon.terminate()
  await daemon.again()
  await turn
  assert.deepEqual([seen[0], seen.at(-1)], ['user_message', 'done'])
})

test('a session is deleted while somebody follows', async () => {
  const id = await the.session()
  const stream = the.client.streamEvents(id, options)
  await stream.next()
  await the.client.deleteSession(id)
  await assert.rejects(
    (async () => {
      for await (const _ of stream) void _
    })(),
    { code: 'session_not_found' },
  )
})
