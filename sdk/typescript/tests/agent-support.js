// A daemon for agents, as much of it as the contract says: hello and welcome, numbers both ways, heartbeats. It writes down what it hears, and can
// be cut off and crash, so that tests see what an agent makes of it.

import { createServer } from 'node:http'

import { Agent } from 'turnloom/agent'
import { WebSocketServer } from 'ws'

import { eventually } from '../../../tests/support/daemon.js'

export { eventually }

export const QUICK = { firstDelay: 1, longestDelay: 20 }

export class AgentDaemon {
  /** What each session has said, once and in order. */
  sessions = new Map()
  hellos = []
  /** Everything that came, also twice. */
  frames = []
  refuse = undefined
  window = { messages: 1024, bytes: 4_194_304 }
  heartbeat_ms = 15_000
  acknowledges = true

  static async start(t) {
    const daemon = new AgentDaemon()
    daemon.http = createServer((_, response) => response.writeHead(404).end())
    daemon.wss = new WebSocketServer({ noServer: true })
    daemon.http.on('upgrade', (request, socket, head) => {
      daemon.request = request
      if (daemon.refuse) {
        const body = JSON.stringify({ code: daemon.refuse.code, detail: 'no', status: daemon.refuse.status })
        socket.end(
          `HTTP/1.1 ${daemon.refuse.status} No\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        )
        return
      }
      daemon.wss.handleUpgrade(request, socket, head, (ws) => daemon.#connected(ws))
    })
    await new Promise((resolve) => daemon.http.listen(0, '127.0.0.1', resolve))
    daemon.url = `http://127.0.0.1:${daemon.http.address().port}`
    t.after(() => daemon.stop())
    return daemon
  }

  #connected(ws) {
    this.ws = ws
    ws.on('error', () => undefined)
    ws.on('message', (data) => {
      const message = JSON.parse(data)
      this.frames.push(message)
      if (message.type === 'hello') this.#welcome(message)
      else if (message.n !== undefined) this.#hear(message)
      else if (message.type === 'heard') this.of(message.session_id).heard = message.o
    })
  }

  #welcome(hello) {
    this.hellos.push(hello)
    const sessions = hello.sessions.map(({ session_id, epoch }) => {
      const known = this.sessions.get(session_id)
      if (!known || known.epoch !== epoch || known.isGone)
        return { session_id, state: 'gone', reason: 'another instance has it' }
      return { session_id, state: 'yours', said: known.said }
    })
    const { window, heartbeat_ms } = this
    this.send({
      type: 'welcome',
      protocol: 1,
      daemon: { version: '0' },
      heartbeat_ms,
      window,
      max_message_bytes: 16_777_216,
      sessions,
    })
    for (const { session_id, heard } of hello.sessions) {
      const known = this.sessions.get(session_id)
      for (const order of known?.isGone ? [] : (known?.orders ?? [])) if (order.o > heard) this.send(order)
    }
  }

  #hear(message) {
    const session = this.of(message.session_id)
    if (message.n <= session.said) return
    if (message.n !== session.said + 1) return this.ws.close(1008, 'gap')
    session.said = message.n
    session.heardMessages.push(message)
    if (this.acknowledges) this.send({ type: 'ack', session_id: message.session_id, n: message.n })
  }

  of(id) {
    const known = this.sessions.get(id) ?? { epoch: 0, said: 0, heardMessages: [], orders: [] }
    this.sessions.set(id, known)
    return known
  }

  send(message) {
    this.ws?.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** A new session, or the same with the next epoch. */
  async open(id, opening = {}, more = {}) {
    await eventually('an agent is connected', () => this.hellos.length > 0 && this.ws?.readyState === 1)
    const session = { epoch: this.of(id).epoch + 1, said: 0, heardMessages: [], orders: [] }
    this.sessions.set(id, session)
    this.send({
      type: 'open',
      session_id: id,
      epoch: session.epoch,
      opening: { beginning: { kind: 'fresh' }, params: {}, client_tools: [], ...opening },
      ...more,
    })
    return this.next(id, 'ready')
  }

  order(id, order) {
    const { orders } = this.of(id)
    const numbered = { session_id: id, o: orders.length + 1, ...order }
    orders.push(numbered)
    this.send(numbered)
  }

  prompt(id, turn_id, text) {
    const messages = [{ message_id: `m-${turn_id}`, content: [{ type: 'text', text }], origin: 'user', by: 'tests' }]
    this.order(id, { type: 'prompt', turn_id, messages })
  }

  said(id) {
    return this.of(id).heardMessages
  }

  /** The first message of a type; of a turn, if one is named. */
  next(id, type, turn) {
    return eventually(`${id} says ${type}`, () =>
      this.said(id).find((message) => message.type === type && (turn === undefined || message.turn_id === turn)),
    )
  }

  cut() {
    this.ws.terminate()
  }

  stop() {
    for (const ws of this.wss.clients) ws.terminate()
    this.wss.close()
    this.http.closeAllConnections()
    return new Promise((resolve) => this.http.close(resolve))
  }
}

/** An agent that is connected to such a daemon, and what goes wrong in it. */
export async function connect(t, make, options = {}) {
  const daemon = await AgentDaemon.start(t)
  const problems = []
  const agent = new Agent('research', {
    url: daemon.url,
    token: 'secret',
    capabilities: ['steer', 'components', 'state', 'questions'],
    reconnect: QUICK,
    stopGraceMs: 2_000,
    onProblem: (problem) => problems.push(problem),
    ...options,
  })
  make(agent)
  const running = agent.run()
  running.catch(() => undefined)
  t.after(async () => {
    agent.close()
    await running.catch(() => undefined)
  })
  return { daemon, agent, problems, running }
}
