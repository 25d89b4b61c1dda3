// Streams over a WebSocket, without a daemon: the other side is one that the test has written.

import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'

import { Turnloom } from 'turnloom'

import { createConnectionSharer, dialShared } from '../dist/shared.js'

const SSE = { headers: { 'content-type': 'text/event-stream' } }
const QUICK = { firstDelay: 1, longestDelay: 4 }
const event = (seq) => ({ op: 'event', event: { seq, type: 'delta' } })

/** A WebSocket whose other end is `serve(op, say, socket)`. */
class FakeSocket {
  static OPEN = 1
  static made = []
  static serve = () => undefined
  static refuses = false
  sent = []
  readyState = 0

  constructor(url, protocols) {
    Object.assign(this, { url, protocols })
    FakeSocket.made.push(this)
    setImmediate(() => {
      if (FakeSocket.refuses) return this.onclose?.()
      this.readyState = 1
      this.onopen?.()
    })
  }

  send(text) {
    const op = JSON.parse(text)
    this.sent.push(op)
    const say = (message) =>
      setImmediate(() => this.onmessage?.({ data: JSON.stringify({ subscription: op.subscription, ...message }) }))
    if (op.op === 'subscribe') say({ op: 'subscribed' })
    FakeSocket.serve(op, say, this)
  }

  close() {
    this.readyState = 3
    setImmediate(() => this.onclose?.())
  }

  ops(name) {
    return this.sent.filter(({ op }) => op === name)
  }
}

beforeEach(() => {
  Object.assign(FakeSocket, { made: [], serve: () => undefined, refuses: false })
})
globalThis.WebSocket = FakeSocket

const clientOf = (options = {}) =>
  new Turnloom({ url: 'http://loom', streams: 'websocket', token: 'so secret', ...options })

/** The positions of so many events. */
async function take(stream, count) {
  const seen = []
  for await (const { seq } of stream) {
    seen.push(seq)
    if (seen.length === count) break
  }
  return seen
}

describe('a socket', () => {
  test('is shared by all streams of a client, and has the token among its protocols', async () => {
    FakeSocket.serve = ({ op, session_id, after }, say) => op === 'subscribe' && say(event(after + session_id.length))
    const client = clientOf({ client: 'me' })
    const seen = await Promise.all([
      take(client.streamEvents('a', { after: 1 }), 1),
      take(client.streamEvents('bb', { after: 1, types: ['delta', 'done'] }), 1),
    ])
    assert.deepEqual(seen, [[2], [3]])
    const [socket, ...others] = FakeSocket.made
    assert.equal(others.length, 0)
    assert.equal(socket.url, 'ws://loom/api/ws?client=me')
    assert.deepEqual(socket.protocols, ['turnloom', 'turnloom.token.c28gc2VjcmV0'])
    const [, second] = socket.ops('subscribe')
    assert.deepEqual([second.stream, second.session_id, second.after, second.types], ['events', 'bb', 1, 'delta,done'])
    assert.equal(socket.ops('unsubscribe').length, 2)
  })

  test('is opened again when it was lost, and the stream goes on', async () => {
    FakeSocket.serve = ({ op, after }, say, socket) => {
      if (op !== 'subscribe') return
      say(event(after + 1))
      if (after < 2) setImmediate(() => setImmediate(() => socket.close()))
    }
    assert.deepEqual(await take(clientOf().streamEvents('s', { reconnect: QUICK }), 3), [1, 2, 3])
    assert.equal(FakeSocket.made.length, 3)
  })

  test('says how much was read, and no more than was read', async () => {
    FakeSocket.serve = ({ op, window }, say) => {
      if (op === 'subscribe') for (let seq = 1; seq <= window; seq++) say(event(seq))
    }
    const stream = clientOf().streamEvents('s')
    await stream.next()
    const [socket] = FakeSocket.made
    // The first event came alone or with others; what lies ahead of the reader is not counted.
    const told = () => socket.ops('taken').reduce((sum, { frames }) => sum + frames, 0)
    assert.ok(told() <= 64)
    for (let seq = 2; seq <= 64; seq++) await stream.next()
    assert.ok(told() >= 32 && told() <= 64, `${told()}`)
    await stream.return()
  })

  test('that says nothing is given up, for all streams on it', async () => {
    let opened = 0
    FakeSocket.serve = ({ op }, say) => op === 'subscribe' && FakeSocket.made.length > 1 && say(event(++opened))
    const client = clientOf()
    const options = { reconnect: { ...QUICK, silence: 30 } }
    const seen = await Promise.all([
      take(client.streamEvents('a', options), 1),
      take(client.streamEvents('b', options), 1),
    ])
    assert.deepEqual(seen.flat().sort(), [1, 2])
    assert.equal(FakeSocket.made[0].readyState, 3)
  })

  test('a refusal is the stream’s own, and the socket goes on', async () => {
    FakeSocket.serve = ({ op, session_id }, say) => {
      if (op !== 'subscribe') return
      if (session_id === 'nobody')
        say({ op: 'error', problem: { status: 404, code: 'session_not_found', detail: 'no' } })
      else say(event(1))
    }
    const client = clientOf()
    await assert.rejects(client.streamEvents('nobody').next(), { code: 'session_not_found', status: 404 })
    assert.deepEqual(await take(client.streamEvents('s'), 1), [1])
    assert.equal(FakeSocket.made.length, 1)
  })

  test('a stream is aborted while the socket opens', async () => {
    const leave = new AbortController()
    const next = clientOf().streamEvents('s', { signal: leave.signal }).next()
    leave.abort(new Error('enough'))
    await assert.rejects(next, { message: 'enough' })
  })
})

describe('a socket that does not come about', () => {
  const problem = (status, code) => () => Response.json({ code, detail: `it is ${code}` }, { status })

  test('is explained by an ordinary request', async () => {
    FakeSocket.refuses = true
    for (const code of ['unauthorized', 'foreign_host', 'foreign_origin']) {
      const client = clientOf({ fetch: async () => problem(403, code)() })
      const error = await client
        .streamEvents('s')
        .next()
        .catch((error) => error)
      assert.equal(error.code, code)
      assert.ok(error.hint.length > 20, error.hint)
    }
  })

  test('is replaced by server-sent events when only WebSockets do not get through', async () => {
    FakeSocket.refuses = true
    const asked = []
    const fetch = async (url) => {
      asked.push(url)
      if (url.endsWith('/api/ws')) return problem(426, 'upgrade_required')()
      return new Response('id: 1\nevent: delta\ndata: {"seq":1,"type":"delta"}\n\n', SSE)
    }
    assert.deepEqual(await take(clientOf({ fetch }).streamEvents('s', { reconnect: QUICK }), 1), [1])
    assert.deepEqual(asked, ['http://loom/api/ws', 'http://loom/api/ws', 'http://loom/api/sessions/s/events?after=0'])
  })

  test('a daemon that is away is waited for, and its first answer is not the end of WebSockets', async () => {
    FakeSocket.refuses = true
    FakeSocket.serve = ({ op }, say) => op === 'subscribe' && say(event(1))
    const answers = [() => Promise.reject(new TypeError('fetch failed')), problem(426, 'upgrade_required')]
    const fetch = async () => {
      const answer = answers.shift()()
      if (answers.length === 0) FakeSocket.refuses = false
      return answer
    }
    assert.deepEqual(await take(clientOf({ fetch }).streamEvents('s', { reconnect: QUICK }), 1), [1])
    assert.equal(answers.length, 0)
  })
})

describe('pages that share a worker', () => {
  /** A shared worker in this process. */
  function workerOf() {
    const join = createConnectionSharer()
    const { port1, port2 } = new MessageChannel()
    port2.onmessage = ({ ports, data }) => (ports?.length ? ports : [data.port]).forEach(join)
    port2.unref()
    port1.unref()
    // Here ports are passed on inside of the message.
    return { port: { postMessage: (_, [port]) => port1.postMessage({ port }, [port]) } }
  }

  test('have one socket, get what is theirs, and take only that with them', async (t) => {
    globalThis.SharedWorker = Function
    // A page is told when it is left; here nobody is.
    globalThis.addEventListener = globalThis.removeEventListener = () => undefined
    t.after(() => delete globalThis.SharedWorker)
    const says = new Map()
    FakeSocket.serve = ({ op, session_id }, say) => op === 'subscribe' && says.set(session_id, say)
    const worker = workerOf()
    const pages = ['a', 'b'].map(() => clientOf({ worker: () => worker }))
    const streams = pages.map((page, at) => page.streamEvents(`s${at}`, { reconnect: QUICK }))
    const firsts = streams.map((stream) => stream.next())
    while (says.size < 2) await new Promise((resolve) => setImmediate(resolve))
    says.get('s0')(event(10))
    says.get('s1')(event(20))
    assert.deepEqual(
      (await Promise.all(firsts)).map(({ value }) => value.seq),
      [10, 20],
    )
    assert.equal(FakeSocket.made.length, 1)

    await streams[0].return()
    const next = streams[1].next()
    says.get('s1')(event(21))
    assert.equal((await next).value.seq, 21)
    const [socket] = FakeSocket.made
    assert.equal(socket.ops('unsubscribe').length, 1)

    // The daemon went away: the page that is left comes back by itself, on a new socket.
    says.clear()
    const later = streams[1].next()
    socket.close()
    while (!says.has('s1')) await new Promise((resolve) => setImmediate(resolve))
    says.get('s1')(event(22))
    assert.equal((await later).value.seq, 22)
    assert.equal(FakeSocket.made.length, 2)
    await streams[1].return()
  })

  test('share the new socket also when somebody gives the old one up late', () => {
    const dialled = []
    const join = createConnectionSharer((_, listener) => {
      dialled.push(listener)
      return { send: () => undefined, close: () => undefined, giveUp: () => undefined }
    })
    /** A page that dials, and can say more. */
    const page = () => {
      const nothing = () => undefined
      const port = { addEventListener: nothing, start: nothing, postMessage: nothing, close: nothing }
      join(port)
      port.onmessage({ data: { dial: { url: 'ws://loom', protocols: [] } } })
      return (data) => port.onmessage({ data })
    }
    const first = page()
    dialled[0].onClose()
    page()
    first({ giveUp: true })
    page()
    assert.equal(dialled.length, 2)
  })

  test('have a socket of their own when the worker does not answer', async (t) => {
    globalThis.SharedWorker = Function
    globalThis.addEventListener = globalThis.removeEventListener = () => undefined
    t.after(() => delete globalThis.SharedWorker)
    let started = 0
    const dial = dialShared(() => (started++, { port: { postMessage: () => undefined } }))
    const address = { url: 'ws://loom', protocols: [] }
    const closed = await new Promise((resolve) => dial(address, { onClose: () => resolve(true) }).giveUp())
    assert.ok(closed)
    await new Promise((resolve) => dial(address, { onOpen: resolve }))
    assert.deepEqual([started, FakeSocket.made.length], [1, 1])
  })

  test('have a socket of their own where there are no such workers', () => {
    const seen = []
    dialShared(() => assert.fail('not asked for'))(
      { url: 'ws://loom', protocols: [] },
      { onOpen: () => seen.push('open') },
    )
    assert.equal(FakeSocket.made.length, 1)
  })
})
