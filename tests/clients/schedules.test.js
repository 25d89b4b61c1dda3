// Clients of three protocols on one session, in an order that nobody planned: they speak, answer, stop, lose their connection and come back, all at
// once. In the end everybody holds what somebody holds who has just come.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { HttpAgent as HttpAgent0 } from 'ag-ui-0'
import { HttpAgent as HttpAgent1 } from 'ag-ui-1'
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import * as react5 from 'ai-react-5'
import * as react6 from 'ai-react-6'
import * as react7 from 'ai-react-7'

import { Daemon, eventually } from './support.js'

const SEEDS = process.env.SEEDS?.split(',').map(Number) ?? [1, 2, 3, 4, 5, 6]
const STEPS = 25

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

const ANSWERS = { 'tool-ask_user': { answers: [['Silk'], ['Weld']] }, 'tool-DatePicker': '2026-12-24' }
const PAYLOADS = { input_required: { answers: [['Silk'], ['Weld']] }, 'turnloom:DatePicker': '2026-12-24' }

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
    await this.ai.validateUIMessages({ messages: kept })
    const ids = kept.map((message) => message.id)
    assert.equal(new Set(ids).size, ids.length)
    let compared = 0
    for (const message of this.chat.messages.filter((message) => message.role === 'assistant')) {
      const known = kept.find((other) => other.id === message.id)
      if (message.metadata?.cursor === undefined || message.metadata.cursor !== known?.metadata?.cursor) continue
      compared++
      assert.deepEqual(normal(message), normal(known), message.id)
    }
    return compared
  }
}

/** What must not depend on how often a client came and went. */
function normal(message) {
  const kept = []
  for (const part of message.parts) {
    if (part.type === 'step-start') continue
    const { approval: _a, callProviderMetadata: _c, providerMetadata: _p, rawInput: _r, ...rest } = JSON.parse(JSON.stringify(part))
    delete rest.id
    const before = kept.at(-1)
    if ((part.type === 'text' || part.type === 'reasoning') && before?.type === part.type) before.text += part.text
    else kept.push(rest)
  }
  return kept
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

/** A reader of universal events, which comes back with the last number it has. */
class Reader {
  constructor(id) {
    this.id = id
    this.events = []
    this.comeBack()
  }

  base() {
    return `${daemon.url}/universal/v1/sessions/${this.id}`
  }

  comeBack() {
    if (this.connection) return
    const connection = new AbortController()
    this.connection = connection
    const offset = this.events.at(-1)?.sequence ?? 0
    this.reading = this.read(offset, connection).catch((error) => connection.signal.aborted || assert.fail(error))
  }

  async read(offset, { signal }) {
    const response = await fetch(`${this.base()}/events/sse?offset=${offset}`, { headers: daemon.headers, signal })
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + piece).split('\n\n')
      rest = frames.pop()
      const data = frames.flatMap((frame) => frame.split('\n').filter((line) => line.startsWith('data:')))
      this.events.push(...data.map((line) => JSON.parse(line.slice(5))))
    }
  }

  say(message) {
    const init = { method: 'POST', headers: { ...daemon.headers, 'content-type': 'application/json' }, body: JSON.stringify({ message }) }
    void fetch(`${this.base()}/messages`, init)
  }

  answer(yes) {
    const settled = new Set(this.events.filter((event) => event.type.endsWith('.resolved')).map((event) => event.data.permission_id ?? event.data.question_id))
    const open = this.events.filter((event) => event.type.endsWith('.requested')).map(({ data }) => data)
    for (const { permission_id, question_id } of open) {
      if (settled.has(permission_id ?? question_id)) continue
      const [path, body] = permission_id ? [`permissions/${permission_id}`, { reply: yes ? 'once' : 'reject' }] : [`questions/${question_id}`, { answers: [['Silk'], ['Weld']] }]
      const init = { method: 'POST', headers: { ...daemon.headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
      void fetch(`${this.base()}/${path}/reply`, init)
    }
  }

  cut() {
    this.connection?.abort()
    this.connection = undefined
  }

  rests() {
    return true
  }

  async check() {
    this.comeBack()
    const response = await fetch(`${this.base()}/events`, { headers: daemon.headers })
    const { events } = await response.json()
    await eventually('all events', () => this.events.length >= events.length)
    assert.deepEqual(this.events.slice(0, events.length), events)
    this.cut()
    return events.length
  }
}

for (const seed of SEEDS) {
  test(`schedule ${seed}`, async () => {
    const { below, of } = dice(seed)
    const id = `schedule-${seed}`
    await daemon.session(id, { pace_ms: below(4) })
    const clients = [new Chat(id, 5 + (seed % 3)), new Chat(id, 5 + ((seed + 1) % 3)), new Agent(id, HttpAgent1), new Agent(id, HttpAgent0), new Reader(id)]
    for (let step = 0; step < STEPS; step++) {
      const client = of(clients)
      const action = of(['say', 'say', 'answer', 'answer', 'answer', 'cut', 'comeBack', 'stop', 'native', 'title'])
      if (process.env.TRACE) console.log(step, clients.indexOf(client), action)
      if (action === 'stop') void daemon.call('POST', `/api/sessions/${id}/stop`, {})
      else if (action === 'title') void daemon.call('PATCH', `/api/sessions/${id}`, { title: `title ${step}` })
      else if (action === 'native') {
        const [ask] = (await daemon.call('GET', '/api/asks')).asks.filter((ask) => ask.session_id === id)
        if (ask) await daemon.answer(id, below(2) === 0).catch(() => {})
      } else if (action === 'say') client.say(of(PROMPTS))
      else if (action === 'answer') client.answer(below(2) === 0)
      else client[action]()
      await new Promise((resolve) => setTimeout(resolve, below(40)))
    }
    // Everything is answered until nothing runs and nobody waits.
    await eventually('all is quiet', async () => {
      const { status, queued } = await daemon.show(id)
      if (status === 'waiting') await daemon.answer(id).catch(() => {})
      for (const client of clients) client.answer(true)
      return (status === 'idle' || status === 'failed') && queued === 0 && clients.every((client) => client.rests())
    })
    const checked = []
    for (const client of clients) checked.push(await client.check(id))
    if (process.env.TRACE) console.log(checked)
  })
}
