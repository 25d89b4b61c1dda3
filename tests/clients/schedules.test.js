// Clients of five protocols on one session, in an order that nobody planned: they speak, answer, stop, lose their connection and come back, all at
// once. In the end everybody holds what somebody holds who has just come.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import { HttpAgent as HttpAgent0 } from 'ag-ui-0'
import { HttpAgent as HttpAgent1 } from 'ag-ui-1'
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import * as react5 from 'ai-react-5'
import * as react6 from 'ai-react-6'
import * as react7 from 'ai-react-7'

import { Daemon, eventually } from '../support/daemon.js'
import { normalMessage } from './support.js'

const SEEDS = process.env.SEEDS?.split(',').map(Number) ?? [1, 2, 3, 4, 5, 6, 205, 232]
const STEPS = 30

const ASKS = ['permission', 'question', 'parallel permission', 'subagent permission', 'interrupt']
const PROMPTS = [...ASKS, ...ASKS, 'echo hello', 'tool', 'parallel', 'subagent', 'state', 'component', 'artifact', 'retract', 'compaction', 'plan', 'error', 'crash']

/** What a turn that fails says; everything else is wrong. */
const FAILED = /The model refused|ended in the middle of the turn/

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

/** Small and the same everywhere (mulberry32). */
function dice(seed) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return { below: (n) => Math.floor(next() * n), of: (list) => list[Math.floor(next() * list.length)] }
}

const ANSWERS = { 'tool-ask_user': { answers: [['Silk'], ['Weld']] }, 'tool-form': '2026-12-24' }
const PAYLOADS = { input_required: { answers: [['Silk'], ['Weld']] }, 'turnloom:form': '2026-12-24' }

/** A chat of the AI SDK. */
class Chat {
  constructor(id, major) {
    const [ai, react] = { 5: [ai5, react5], 6: [ai6, react6], 7: [ai7, react7] }[major]
    Object.assign(this, { ai, major })
    this.errors = []
    const complete = ai.lastAssistantMessageIsCompleteWithToolCalls
    const approved = ai.lastAssistantMessageIsCompleteWithApprovalResponses ?? (() => false)
    this.chat = new react.Chat({
      id,
      transport: new ai.DefaultChatTransport({ api: `${daemon.url}/ai-sdk/chat?v=${major}`, headers: daemon.headers }),
      sendAutomaticallyWhen: ({ messages }) => approved({ messages }) || complete({ messages }),
      onError: (error) => FAILED.test(error.message) || this.errors.push(error.message),
    })
  }

  get isBusy() {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming'
  }

  say(text) {
    if (!this.isBusy) void this.chat.sendMessage({ text })
  }

  answer(yes) {
    if (this.isBusy) return
    for (const part of this.chat.messages.at(-1)?.parts ?? []) {
      if (part.state === 'approval-requested') void this.chat.addToolApprovalResponse({ id: part.approval.id, approved: yes })
      const output = part.type === 'tool-approve_tool' ? { approved: yes } : ANSWERS[part.type]
      if (part.state !== 'input-available' || output === undefined) continue
      const add = this.chat.addToolOutput ?? this.chat.addToolResult
      void add.call(this.chat, { tool: part.type.slice('tool-'.length), toolCallId: part.toolCallId, output })
    }
  }

  cut() {
    void this.chat.stop()
  }

  comeBack() {
    if (!this.isBusy) void this.chat.resumeStream()
  }

  rests() {
    return !this.isBusy
  }

  /** What it holds of turns that it saw to their end is what a history has of them. */
  async check(id) {
    assert.deepEqual(this.errors, [])
    const kept = await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${this.major}`)
    if (kept.length > 0) await this.ai.validateUIMessages({ messages: kept })
    const ids = kept.map((message) => message.id)
    assert.equal(new Set(ids).size, ids.length)
    let compared = 0
    for (const message of this.chat.messages.filter((message) => message.role === 'assistant')) {
      const known = kept.find((other) => other.id === message.id)
      if (message.metadata?.cursor === undefined || message.metadata.cursor !== known?.metadata?.cursor) continue
      compared++
      assert.deepEqual(normalMessage(message), normalMessage(known), message.id)
    }
    return compared
  }
}

/** An agent of AG-UI. */
class Agent {
  constructor(id, HttpAgent) {
    this.agent = new HttpAgent({ url: `${daemon.url}/ag-ui/${id}`, headers: daemon.headers, threadId: id })
    this.running = 0
    this.errors = []
    this.cuts = 0
  }

  async run(options) {
    const cuts = this.cuts
    this.running++
    const subscriber = { onRunErrorEvent: ({ event }) => void (event.code === 'abort' || FAILED.test(event.message) || this.errors.push(event.message)) }
    await this.agent.runAgent(options, subscriber).catch((error) => cuts === this.cuts && this.errors.push(String(error)))
    this.running--
  }

  say(content) {
    if (this.running || this.agent.pendingInterrupts.length > 0) return
    this.agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    void this.run()
  }

  answer(yes) {
    if (this.running || this.agent.pendingInterrupts.length === 0) return
    const payload = (reason) => PAYLOADS[reason] ?? { approved: yes }
    const resume = this.agent.pendingInterrupts.map(({ id, reason }) => ({ interruptId: id, status: 'resolved', payload: payload(reason) }))
    void this.run({ resume })
  }

  cut() {
    if (!this.running) return
    this.cuts++
    this.agent.abortRun()
  }

  comeBack() {
    if (!this.running && this.agent.pendingInterrupts.length === 0) void this.run()
  }

  rests() {
    return this.running === 0
  }

  async check(id) {
    if (this.agent.pendingInterrupts.length > 0) this.answer(true)
    else void this.run()
    await eventually('it has run', () => this.rests())
    assert.deepEqual(this.errors, [])
    const fresh = new Agent(id, this.agent.constructor)
    await fresh.run()
    const told = (agent) => agent.messages.filter((message) => message.role !== 'activity')
    const activities = (agent) =>
      agent.messages.filter((message) => message.role === 'activity').sort((one, other) => (one.id < other.id ? -1 : 1))
    assert.deepEqual(told(this.agent), told(fresh.agent))
    assert.deepEqual(activities(this.agent), activities(fresh.agent))
    assert.deepEqual(this.agent.state, fresh.agent.state)
    return this.agent.messages.length
  }
}

/** Something that reads a stream, and comes back to it with the last position it has. */
class Follower {
  comeBack() {
    if (this.connection) return
    const connection = new AbortController()
    this.connection = connection
    this.read(connection).catch((error) => connection.signal.aborted || assert.fail(error))
  }

  async read({ signal }) {
    const headers = { ...daemon.headers, accept: 'text/event-stream', ...(this.last && { 'last-event-id': this.last }) }
    const response = await fetch(daemon.url + this.path, { headers, signal })
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + piece).split('\n\n')
      rest = frames.pop()
      for (const frame of frames) {
        const field = (name) => frame.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        if (signal.aborted) return
        if (field('data')) this.take(JSON.parse(field('data')), field('event'))
        this.last = field('id') ?? this.last
      }
    }
  }

  cut() {
    this.connection?.abort()
    this.connection = undefined
  }

  say() {}

  answer() {}

  rests() {
    return true
  }
}

const post = (path, body) =>
  void fetch(daemon.url + path, { method: 'POST', headers: { ...daemon.headers, 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** A reader of universal events. */
class Reader extends Follower {
  constructor(id) {
    super()
    this.base = `/universal/v1/sessions/${id}`
    this.path = `${this.base}/events/sse`
    this.events = []
    this.comeBack()
  }

  take(event) {
    this.events.push(event)
  }

  say(message) {
    post(`${this.base}/messages`, { message })
  }

  answer(yes) {
    const of = (kind) => this.events.filter(({ type }) => type.endsWith(kind)).map(({ data }) => data)
    const settled = new Set(of('.resolved').map((ask) => ask.permission_id ?? ask.question_id))
    for (const { permission_id, question_id } of of('.requested')) {
      if (settled.has(permission_id ?? question_id)) continue
      if (permission_id) post(`${this.base}/permissions/${permission_id}/reply`, { reply: yes ? 'once' : 'reject' })
      else post(`${this.base}/questions/${question_id}/reply`, { answers: [['Silk'], ['Weld']] })
    }
  }

  async check() {
    this.comeBack()
    const { events } = await daemon.call('GET', `${this.base}/events`)
    await eventually('all events', () => this.events.length >= events.length)
    assert.deepEqual(this.events.slice(0, events.length), events)
    this.cut()
    return events.length
  }
}

/** A reader of snapshots, which puts nothing together. */
class Snapshots extends Follower {
  constructor(id) {
    super()
    this.path = `/api/sessions/${id}/events?dialect=snapshot`
    this.held = {}
    this.comeBack()
  }

  take(data, name) {
    const { type, message, result, isError, stopReason } = data.event ?? {}
    if (name !== 'stream') this.held[data.approvalId] = data.decision ?? 'asked'
    else if (type.startsWith('message_')) this.held[data.streamId] = { content: message.content, stopReason }
    else if (type.startsWith('tool_')) this.held[data.streamId] = { result, isError }
  }

  async check(id) {
    this.comeBack()
    const fresh = new Snapshots(id)
    const told = new Set(['delta', 'thinking', 'tool_start', 'question_request', 'interrupt'])
    const isEmpty = !(await daemon.events(id)).some(({ type, data }) => told.has(type) && data.text !== '')
    const isSame = () => (isEmpty || Object.keys(fresh.held).length > 0) && isDeepStrictEqual(this.held, fresh.held)
    await eventually('the same', isSame).catch(() => assert.deepEqual(this.held, fresh.held))
    fresh.cut()
    this.cut()
    return Object.keys(this.held).length
  }
}

/** A reader of the tasks of all sessions. */
class Tasks extends Follower {
  constructor(id) {
    super()
    this.session = id
    this.path = '/api/tasks/events'
    this.running = new Set()
    this.completed = []
    this.comeBack()
  }

  take({ type, data }) {
    if (type === 'connected' && !data.resumed) this.running.clear()
    const { task } = data ?? {}
    if (task?.sessionId !== this.session) return
    if (type === 'task:started') this.running.add(task.runId)
    if (type === 'task:completed') {
      this.running.delete(task.runId)
      this.completed.push(task.runId)
    }
  }

  async check(id) {
    this.comeBack()
    await eventually('nothing runs', () => this.running.size === 0)
    const ended = (await daemon.events(id)).filter(({ type }) => type === 'done').map((event) => event.turn_id)
    await eventually('all have ended', () => this.completed.length >= ended.length).catch(() => {})
    assert.deepEqual(this.completed, ended)
    this.cut()
    return ended.length
  }
}

for (const seed of SEEDS) {
  test(`schedule ${seed}`, async () => {
    const { below, of } = dice(seed)
    const id = `schedule-${seed}`
    await daemon.session(id, { pace_ms: below(4) })
    const clients = [new Chat(id, 5 + (seed % 3)), new Chat(id, 5 + ((seed + 1) % 3)), new Agent(id, HttpAgent1), new Agent(id, HttpAgent0), new Reader(id), new Snapshots(id), new Tasks(id)]
    await eventually('who reads tasks has a position to come back to', () => clients.at(-1).last)
    for (let step = 0; step < STEPS; step++) {
      const client = of(clients)
      const action = of(['say', 'say', 'answer', 'answer', 'answer', 'cut', 'comeBack', 'stop', 'native', 'title'])
      if (process.env.TRACE) console.log(step, clients.indexOf(client), action)
      if (action === 'stop') void daemon.call('POST', `/api/sessions/${id}/stop`, {})
      else if (action === 'title') void daemon.call('PATCH', `/api/sessions/${id}`, { title: `title ${step}` })
      else if (action === 'native') {
        const ask = await daemon.ask(id)
        // Somebody else may be quicker.
        if (ask) await daemon.give(id, ask, below(2) === 0).catch(() => {})
      } else if (action === 'say') client.say(of(PROMPTS))
      else if (action === 'answer') client.answer(below(2) === 0)
      else client[action]()
      await new Promise((resolve) => setTimeout(resolve, below(40)))
    }
    // Everything is answered until nothing runs and nobody waits.
    await eventually('all is quiet', async () => {
      const { status, queued } = await daemon.show(id)
      const ask = await daemon.ask(id)
      if (ask) await daemon.give(id, ask, true).catch(() => {})
      for (const client of clients) client.answer(true)
      return (status === 'idle' || status === 'failed') && queued === 0 && clients.every((client) => client.rests())
    })
    const checked = []
    for (const client of clients) checked.push(await client.check(id))
    if (process.env.TRACE) console.log(checked)
  })
}
