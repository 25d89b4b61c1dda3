// What the tests against the real daemon share.

import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import { after, before } from 'node:test'

import { contentOf, Turnloom } from 'turnloom'

import { Daemon, eventually } from '../../../tests/support/daemon.js'

export { eventually }

/** Delays that a test can wait for. */
export const QUICK = { firstDelay: 1, longestDelay: 20 }

/** A daemon for all tests of a file, and a client of it. */
export function fixture() {
  const made = {}
  let sessions = 0
  before(async () => {
    made.daemon = await Daemon.start()
    made.client = new Turnloom({ url: made.daemon.url, token: made.daemon.token, client: 'tests' })
  })
  after(() => made.daemon.stop())
  /** A mock session that talks as fast as it can. */
  made.session = async (params = {}) => {
    const id = `sdk:${++sessions}`
    await made.client.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0, ...params } })
    return id
  }
  return made
}

/** Answers whatever an event asks. */
export async function answer(client, { session_id, type, data }) {
  if (type === 'permission_request') await client.replyPermission(session_id, data.ask_id, 'once')
  if (type === 'question_request') await client.replyQuestion(session_id, data.ask_id, [['Silk'], ['Weld']])
  if (type === 'interrupt') await client.answerInterrupt(session_id, data.interrupt_id, '2026-12-24')
}

/** Stands between a client and the daemon and cuts every stream: after so many events, and in the middle of the next one. */
export class CuttingProxy {
  connections = 0

  static async start(url, { events }) {
    const proxy = new CuttingProxy()
    proxy.server = createServer((incoming, outgoing) => {
      proxy.connections += 1
      // The first one is cut before it has an answer, so nobody knows what became of the request.
      const room = proxy.connections === 1 ? 0 : events
      const headers = { ...incoming.headers, host: new URL(url).host }
      const upstream = request(url + incoming.url, { method: incoming.method, headers }, (answer) => {
        if (room === 0) return cut()
        outgoing.writeHead(answer.statusCode, answer.headers)
        pass(answer, room).catch(cut) // the client has gone
      })
      const cut = () => {
        upstream.destroy()
        outgoing.destroy()
      }
      const pass = async (answer, room) => {
        let rest = ''
        for await (const piece of answer.setEncoding('utf8')) {
          const frames = (rest + piece).split(/(?<=\n\n)/)
          rest = frames.at(-1).endsWith('\n\n') ? '' : frames.pop()
          for (const frame of frames) {
            const isEvent = frame.startsWith('id:')
            if (isEvent && room-- === 0) return outgoing.write(frame.slice(0, frame.length / 2), cut)
            outgoing.write(frame)
          }
        }
        outgoing.end()
      }
      upstream.on('error', cut)
      outgoing.on('close', () => upstream.destroy())
      incoming.pipe(upstream)
    })
    await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
    proxy.url = `http://127.0.0.1:${proxy.server.address().port}`
    return proxy
  }

  async stop() {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

/** A view as streams have it: without what the blocks say already, which is compared with what the SDK makes of them. */
export function asStreamed(view) {
  for (const message of view.messages) {
    assert.equal(contentOf(message), message.content)
    delete message.content
  }
  return view
}
