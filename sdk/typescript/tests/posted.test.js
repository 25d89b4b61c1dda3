// Pages that share a worker where WebSockets do not get through: all their streams are one connection to the real daemon.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import { Turnloom } from 'turnloom'

import { createConnectionSharer, dialShared } from '../dist/shared.js'
import { QUICK, asStreamed, eventually, fixture } from './support.js'

const the = fixture()

// As behind a proxy that takes the upgrade away: it closes before it has opened.
globalThis.WebSocket = class {
  static OPEN = 1
  constructor() {
    setImmediate(() => this.onclose?.())
  }
  close() {}
}
globalThis.SharedWorker = Function
globalThis.addEventListener = globalThis.removeEventListener = () => undefined

/** A shared worker in this process. */
function workerOf() {
  const join = createConnectionSharer()
  const { port1, port2 } = new MessageChannel()
  port2.onmessage = ({ ports, data }) => (ports?.length ? ports : [data.port]).forEach(join)
  after(() => port1.close())
  return { port: { postMessage: (_, [port]) => port1.postMessage({ port }, [port]) } }
}

async function sockets() {
  const headers = { authorization: `Bearer ${the.daemon.token}` }
  const text = await (await fetch(`${the.daemon.url}/metrics`, { headers })).text()
  return Number(/turnloom_sockets (\d+)/.exec(text)[1])
}

describe('without WebSockets', () => {
  const worker = workerOf()
  const page = () =>
    new Turnloom({ url: the.daemon.url, token: the.daemon.token, streams: 'websocket', worker: () => worker })

  test('eight pages follow all there is on one connection, across a restart, and leave it', async (t) => {
    const leave = new AbortController()
    t.after(() => leave.abort())
    const options = { signal: leave.signal, reconnect: QUICK }
    const follow = async (stream, take) => {
      for await (const value of stream) take(value)
    }
    const ids = await Promise.all(Array.from({ length: 8 }, () => the.session()))
    const pages = ids.map((id) => {
      const [client, held] = [page(), { id }]
      held.ended = Promise.allSettled([
        follow(client.streamView(id, options), (view) => (held.view = view)),
        follow(client.streamSessions({ limit: 20, ...options }), ({ sessions }) => (held.sessions = sessions)),
        follow(client.streamAsks(options), (asks) => (held.asks = asks)),
      ])
      return held
    })
    const said = (held, text) => JSON.stringify(held.view ?? '').includes(text)
    for (const held of pages) await the.client.postMessage(held.id, `echo to ${held.id}`)
    for (const held of pages) await eventually(`${held.id} is live`, () => said(held, `to ${held.id}`))
    assert.equal(await sockets(), 1)

    await the.daemon.kill()
    await the.daemon.again()
    await the.client.postMessage(ids[3], 'permission')
    for (const held of pages) await eventually('all see the ask', () => held.asks?.length === 1)
    for (const held of pages) await eventually('and the list', () => held.sessions?.length === 8)
    assert.equal(await sockets(), 1)
    await the.client.stop(ids[3])
    await eventually('the view is whole', async () => {
      const view = asStreamed(await the.client.getView(ids[3]))
      return isDeepStrictEqual(pages[3].view, view)
    })

    leave.abort()
    for (const held of pages) await held.ended
    await eventually('nothing is held', async () => (await sockets()) === 0)
  })

  test('a turn, with more frames than fit into a window', async () => {
    const id = await the.session()
    const types = []
    for await (const { type } of page().streamTurn(id, 'stream 300 8')) types.push(type)
    assert.deepEqual([types[0], types.at(-1)], ['user_message', 'done'])
    assert.ok(types.filter((type) => type === 'delta').length > 64, `${types.length} events`)
  })

  test('a page whose worker does not start has a stream for each, as before', async () => {
    const id = await the.session()
    const broken = () => {
      throw new Error('no workers here')
    }
    const client = new Turnloom({ url: the.daemon.url, token: the.daemon.token, streams: 'websocket', worker: broken })
    await the.client.postMessage(id, 'echo by itself')
    for await (const { type } of client.streamEvents(id, { reconnect: QUICK })) if (type === 'done') break
    await eventually('nothing is shared', async () => (await sockets()) === 0)
  })
})

test('a worker that lives is not given up because a connection does not open', async (t) => {
  const { MessageChannel } = globalThis
  t.after(() => (globalThis.MessageChannel = MessageChannel))
  const heard = []
  globalThis.MessageChannel = function () {
    const ports = new MessageChannel()
    heard.push(new Promise((resolve) => ports.port1.addEventListener('message', resolve)))
    return ports
  }
  const nothing = () => undefined
  const join = createConnectionSharer(() => ({ send: nothing, close: nothing, giveUp: nothing }))
  let [started, joined] = [0, 0]
  const postMessage = (_, [port]) => (joined++, join(port))
  const dial = dialShared(() => (started++, { port: { postMessage } }))
  for (const at of [0, 1]) {
    const channel = dial({ url: 'ws://loom', protocols: [] }, { onClose: nothing, onOpen: nothing, onMessage: nothing })
    await heard[at]
    channel.giveUp()
  }
  assert.deepEqual([started, joined], [1, 2])
})
