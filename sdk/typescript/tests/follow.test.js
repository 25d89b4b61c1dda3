// How a stream comes back, without a daemon: `fetch` is one that the test has written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Turnloom, TurnloomError, UNREACHABLE, newId } from 'turnloom'

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

  test('gives its connection back while nobody looks, and goes on from where it was', async (t) => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    globalThis.document = page
    t.after(() => delete globalThis.document)
    const look = (state) => {
      page.visibilityState = state
      page.dispatchEvent(new Event('visibilitychange'))
    }
    const signals = []
    const { asked, client } = clientOf([
      (init) => open(event(1), (signals.push(init.signal), init)),
      (init) => open(event(2), (signals.push(init.signal), init)),
    ])
    const told = []
    const stream = client.streamEvents('s', { whileHidden: 20, onConnection: ({ state }) => told.push(state) })
    await stream.next()
    // A moment is not long enough.
    look('hidden')
    look('visible')
    const next = stream.next()
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.equal(signals[0].aborted, false)
    look('hidden')
    while (told.at(-1) !== 'resting') await new Promise((resolve) => setTimeout(resolve, 5))
    assert.ok(signals[0].aborted)
    assert.equal(asked.length, 1)
    look('visible')
    assert.equal((await next).value.seq, 2)
    assert.match(asked[1].url, /after=1$/)
    assert.deepEqual(told, ['connecting', 'live', 'resting', 'connecting', 'live'])
    await stream.return()
  })

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

describe('a view', () => {
  const frame = (name, seq, data) => `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  const snapshot = (seq, title) => frame('snapshot', seq, { seq, session: { title }, messages: [] })
  const titled = (seq, title) => ({ seq, ops: [{ op: 'set', path: [], fields: { session: { title } } }] })
  const changes = (seq, title) => frame('ops', seq, titled(seq, title))

  test('is held as its user wants it, and tells what changes before it does', async () => {
    const { client } = clientOf([(init) => open([snapshot(3, 'Silk'), changes(4, 'Weld')], init)])
    const told = []
    let held
    const stream = client.streamView('s', {
      hold: (view) => (held = new Proxy(view, {})),
      onChanges: (ops) => told.push([held.session.title, ops]),
    })
    for await (const view of stream) {
      assert.equal(view, held)
      if (view.seq === 4) break
    }
    assert.deepEqual([held.seq, held.session.title], [4, 'Weld'])
    assert.deepEqual(told, [['Silk', titled(4, 'Weld').ops]])
  })

  test('tells that its connection lives', async () => {
    const heads = []
    const { client } = clientOf([(init) => open(['event: heartbeat\ndata: {"head":9}\n\n', snapshot(9, 'Silk')], init)])
    const stream = client.streamView('s', { onHeartbeat: (head) => heads.push(head) })
    await stream.next()
    await stream.return()
    assert.deepEqual(heads, [9])
  })

  test('goes on from one that is held already', async () => {
    const held = { seq: 3, session: { title: 'Silk' }, messages: [] }
    const { asked, client } = clientOf([(init) => open(changes(4, 'Weld'), init)])
    const stream = client.streamView('s', { view: held })
    assert.equal((await stream.next()).value, held)
    assert.equal(held.session.title, 'Weld')
    assert.match(asked[0].url, /after=3$/)
    await stream.return()
  })
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
    assert.deepEqual(asked[0].init.headers, { accept: 'application/json', 'turnloom-page': '1' })
  })

  test('is an error with a word when nobody answers, or somebody else', async () => {
    const { client } = clientOf([away, () => new Response('bad gateway', { status: 502 })])
    const error = await client.health().catch((error) => error)
    assert.ok(error instanceof TurnloomError && error.isTransient)
    assert.deepEqual([error.code, error.status, error.cause.message], ['unreachable', 0, 'fetch failed'])
    await assert.rejects(client.health(), { code: 'unknown', status: 502, isTransient: true })
  })

  test('is unreachable too when its answer is lost on the way', async () => {
    const lost = () => {
      const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
      return new Response(body)
    }
    const { client } = clientOf([lost, lost])
    await assert.rejects(client.health(), { code: UNREACHABLE, status: 0 })
    await assert.rejects(client.getBlob('b'), { code: UNREACHABLE, status: 0 })
  })

  test('that is not authorized is told, whether it is a call or a stream', async () => {
    const told = []
    const onUnauthorized = ({ code }) => told.push(code)
    const answers = [problem(401, 'unauthorized'), problem(404, 'session_not_found'), problem(401, 'unauthorized')]
    const { client } = clientOf(answers, { onUnauthorized })
    await assert.rejects(client.listAgents(), { status: 401 })
    await assert.rejects(client.getSession('s'), { status: 404 })
    assert.deepEqual(told, ['unauthorized'])
    await assert.rejects(client.streamView('s').next(), { status: 401 })
    assert.deepEqual(told, ['unauthorized', 'unauthorized'])
  })

  test('asks for some bytes only', async () => {
    const { asked, client } = clientOf([() => new Response('three', { status: 206 })])
    assert.equal(await (await client.getBlob('b', { range: { start: 5, end: 10 } })).text(), 'three')
    assert.equal(asked[0].init.headers.range, 'bytes=5-9')
  })
})

test('addresses for others', () => {
  const { client } = clientOf([])
  assert.equal(client.blobUrl('a/b'), 'http://loom/api/blobs/a%2Fb')
  assert.equal(client.eventsUrl('s', { after: 4 }), 'http://loom/api/sessions/s/events?after=4')
  assert.equal(new Turnloom({ url: '' }).blobUrl('b'), '/api/blobs/b')
})

test('ids are fresh', () => {
  assert.match(newId(), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.notEqual(newId(), newId())
})
