// How a stream comes back, without a daemon: `fetch` is one that the test has written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Turnloom, TurnloomError } from 'turnloom'

const SSE = { headers: { 'content-type': 'text/event-stream' } }
const event = (seq) => `id: ${seq}\nevent: delta\ndata: {"seq":${seq},"type":"delta"}\n\n`
const problem = (status, code) => () => Response.json({ code, detail: `it is ${code}` }, { status })
const away = () => Promise.reject(new TypeError('fetch failed'))

/** A stream that says this, in one or more pieces, and then nothing. */
const open = (pieces, init) => {
  const body = new ReadableStream({
    start: (controller) => {
      for (const piece of [pieces].flat()) controller.enqueue(new TextEncoder().encode(piece))
      init?.signal?.addEventListener('abort', () => controller.error(init.signal.reason))
    },
  })
  return new Response(body, SSE)
}

/** A client that gets these answers, one after the other, and keeps what it was asked for. */
function clientOf(answers, options = {}) {
  const asked = []
  const fetch = async (url, init) => {
    asked.push({ url, init })
    return answers[asked.length - 1](init)
  }
  return { asked, client: new Turnloom({ url: 'http://loom/', fetch, ...options }) }
}

const quick = (rest = {}) => ({ reconnect: { firstDelay: 1, longestDelay: 4, ...rest } })

/** The positions of so many events. */
async function take(stream, count) {
  const seen = []
  for await (const { seq } of stream) {
    seen.push(seq)
    if (seen.length === count) break
  }
  return seen
}

describe('a stream', () => {
  test('goes on after the last event, and leaves out what it had', async () => {
    const { asked, client } = clientOf([
      () => new Response(event(1) + event(2) + 'id: 3\nda', SSE),
      () => new Response(event(2) + event(3), SSE),
      (init) => open(event(4), init),
    ])
    assert.deepEqual(await take(client.streamEvents('s', quick()), 4), [1, 2, 3, 4])
    assert.deepEqual(
      asked.map(({ url }) => url),
      [0, 2, 3].map((after) => `http://loom/api/sessions/s/events?after=${after}`),
    )
  })

  test('waits longer after each failure, up to a bound, and starts over when something came', async () => {
    const end = () => new Response('', SSE)
    const { client } = clientOf([
      away,
      problem(503, 'overloaded'),
      problem(429, 'too_many_followers'),
      end,
      end,
      () => new Response(event(1), SSE),
      away,
      (init) => open(event(2), init),
    ])
    const told = []
    const onConnection = (connection) => told.push(connection)
    assert.deepEqual(await take(client.streamEvents('s', { ...quick(), onConnection }), 2), [1, 2])
    const waits = told.filter(({ state }) => state === 'waiting')
    assert.deepEqual(
      waits.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5, 1, 2],
    )
    const longest = [1, 2, 4, 4, 4, 1, 2]
    for (const [at, { delay }] of waits.entries())
      assert.ok(delay >= longest[at] / 2 && delay <= longest[at], `${delay} at ${at}`)
    assert.deepEqual(
      waits.map(({ error }) => error?.code),
      ['unreachable', 'overloaded', 'too_many_followers', undefined, undefined, undefined, 'unreachable'],
    )
    assert.deepEqual(
      told.slice(0, 2).map(({ state }) => state),
      ['connecting', 'waiting'],
    )
    assert.deepEqual(
      told.slice(-2).map(({ state }) => state),
      ['connecting', 'live'],
    )
  })

  test('does not come back after a refusal that will not change', async () => {
    const { asked, client } = clientOf([() => new Response(event(1), SSE), problem(404, 'session_not_found')])
    await assert.rejects(take(client.streamEvents('s', quick())), {
      code: 'session_not_found',
      status: 404,
      message: 'it is session_not_found',
    })
    assert.equal(asked.length, 2)
  })

  test('does not take a page for a daemon', async () => {
    const page = () => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } })
    const { client } = clientOf([page, page])
    await assert.rejects(take(client.streamEvents('s', quick())), { code: 'not_turnloom' })
    await assert.rejects(client.getSession('s'), { code: 'not_turnloom', status: 200 })
  })

  test('gives up a connection that is silent', async () => {
    const { client } = clientOf([(init) => open(event(1), init), (init) => open(event(2), init)])
    const errors = []
    const onConnection = ({ error }) => error && errors.push(error.message)
    assert.deepEqual(await take(client.streamEvents('s', { ...quick({ silence: 20 }), onConnection }), 2), [1, 2])
    assert.deepEqual(errors, ['the daemon does not answer (silent for 20 ms)'])
  })

  test('does not take a slow reader for a silent daemon', async () => {
    const { asked, client } = clientOf([(init) => open([event(1), event(2)], init)])
    for await (const { seq } of client.streamEvents('s', quick({ silence: 20 }))) {
      if (seq === 2) break
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
    assert.equal(asked.length, 1)
  })

  for (const [reason, happens] of [
    ['the network is back', () => globalThis.dispatchEvent(new Event('online'))],
    ['somebody looks again', () => document.dispatchEvent(new Event('visibilitychange'))],
  ]) {
    test(`tries at once in a page when ${reason}`, async (t) => {
      // As much of a page as is needed.
      const network = new EventTarget()
      const parts = {
        document: Object.assign(new EventTarget(), { visibilityState: 'visible' }),
        addEventListener: network.addEventListener.bind(network),
        removeEventListener: network.removeEventListener.bind(network),
        dispatchEvent: network.dispatchEvent.bind(network),
      }
      Object.assign(globalThis, parts)
      t.after(() => Object.keys(parts).forEach((name) => delete globalThis[name]))
      const { client } = clientOf([away, (init) => open(event(1), init)])
      const onConnection = ({ state }) => state === 'waiting' && setImmediate(happens)
      const options = { reconnect: { firstDelay: 600_000, longestDelay: 600_000 }, onConnection }
      assert.deepEqual(await take(client.streamEvents('s', options), 1), [1])
    })
  }

  test('closes its connection when the loop is left', async () => {
    let signal
    const { client } = clientOf([(init) => open(event(1), ({ signal } = init))])
    await take(client.streamEvents('s'), 1)
    assert.ok(signal.aborted)
  })

  for (const [when, answers] of Object.entries({
    'before it has begun': [],
    'while it connects': [
      (init) => new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason))),
    ],
    'while nothing comes': [(init) => open('', init)],
    'while nothing comes, from a fetch that does not know signals': [() => open('')],
    'while it waits for the next attempt': [away],
  })) {
    test(`is aborted ${when}`, async () => {
      const leave = new AbortController()
      const reason = new Error('enough')
      const { asked, client } = clientOf(answers)
      const stream = client.streamEvents('s', { signal: leave.signal, reconnect: { firstDelay: 60_000 } })
      if (answers.length === 0) leave.abort(reason)
      const next = stream.next()
      setTimeout(() => leave.abort(reason), 5)
      await assert.rejects(next, reason)
      assert.equal(asked.length, answers.length)
    })
  }
})

describe('a request', () => {
  test('carries who asks, and a token that may change', async () => {
    let made = 0
    const empty = () => new Response(null, { status: 204 })
    const { asked, client } = clientOf([empty, empty], { token: async () => `secret-${++made}`, client: 'me' })
    await client.deleteSession('a/b')
    await client.postMessage('s', { message: 'hi', message_id: 'm' })
    assert.equal(asked[0].url, 'http://loom/api/sessions/a%2Fb?purge=true')
    assert.deepEqual(
      asked.map(({ init }) => [init.method, init.headers.authorization, init.headers['turnloom-client'], init.body]),
      [
        ['DELETE', 'Bearer secret-1', 'me', null],
        ['POST', 'Bearer secret-2', 'me', '{"message":"hi","message_id":"m"}'],
      ],
    )
  })

  test('goes to the page it came from when the address is empty', async () => {
    const { asked, client } = clientOf([() => Response.json({ agents: [] })], { url: '' })
    assert.deepEqual(await client.listAgents(), [])
    assert.equal(asked[0].url, '/api/agents')
    assert.deepEqual(asked[0].init.headers, { accept: 'application/json' })
  })

  test('is an error with a word when nobody answers, or somebody else', async () => {
    const { client } = clientOf([away, () => new Response('bad gateway', { status: 502 })])
    const error = await client.health().catch((error) => error)
    assert.ok(error instanceof TurnloomError && error.isTransient)
    assert.deepEqual([error.code, error.status, error.cause.message], ['unreachable', 0, 'fetch failed'])
    await assert.rejects(client.health(), { code: 'unknown', status: 502, isTransient: true })
  })
})
