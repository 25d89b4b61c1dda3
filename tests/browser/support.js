// What the browser tests share: the real daemon on a data directory of its own, and a real browser signed in to it.

import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { chromium } from 'playwright-core'

const PROGRAM = process.env.TURNLOOM_PROGRAM
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const PATIENCE = 30_000

/** Asks until there is an answer. */
export async function eventually(what, ask) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A daemon in a process of its own. */
export class Daemon {
  static async start(args = []) {
    const daemon = new Daemon()
    daemon.data = await mkdtemp(join(tmpdir(), 'turnloom-browser-'))
    await daemon.run(['--port', '0', ...args])
    daemon.port = new URL(daemon.url).port
    return daemon
  }

  async run(args) {
    await rm(join(this.data, 'daemon.json'), { force: true })
    this.child = spawn(PROGRAM, ['up', '--no-open', '--data', this.data, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
    const found = await eventually('the daemon listens', () => readFile(join(this.data, 'daemon.json'), 'utf8').catch(() => null))
    this.url = JSON.parse(found).url
    this.token = (await readFile(join(this.data, 'token'), 'utf8')).trim()
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill('SIGKILL')
    await ended
  }

  /** The next daemon, at the same address. */
  async again() {
    await this.run(['--port', this.port])
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** A mock session that talks as fast as it can. */
  async session(id, params = {}) {
    await this.call('POST', '/api/sessions', { session_id: id, runtime: 'mock', params: { pace_ms: 0, title: id, ...params } })
  }

  /** A session with a long past, put in as a file: a person says a number, the agent says it too, with some thinking and a tool between. */
  async longSession(id, turns) {
    const events = [['session_ready', { session_id: id, runtime: 'mock', title: id }]]
    for (let n = 0; n < turns; n++) {
      const turn = `turn_${n}`
      events.push(
        ['user_message', { message_id: `m${n}`, content: [{ type: 'text', text: `say ${n}` }], origin: 'user' }, turn],
        ['turn_started', { message_ids: [`m${n}`], origin: 'user' }, turn],
        ['thinking', { block_id: 'think', text: 'A number.', done: true }, turn],
        ['tool_start', { tool_use_id: `t${n}`, tool: 'Read', file_path: `src/${n}.rs` }, turn],
        ['tool_result', { tool_use_id: `t${n}`, output: 'fn main() {}', is_error: false }, turn],
        ['delta', { block_id: 'text', text: `Here is **number ${n}**, in a sentence of the usual length.\n\n- one\n- two\n`, done: true }, turn],
        ['done', { outcome: 'completed' }, turn],
      )
    }
    await this.import(id, events)
  }

  /** A session whose past is made up: each event is its type, its data, and the turn it belongs to. */
  async import(id, events) {
    const ts = '2026-01-01T00:00:00.000Z'
    const header = { turnloom_session: 1, session_id: id, runtime: 'mock', params: { title: id }, created_at: ts, head: events.length }
    const lines = events.map(([type, data, turn_id], at) => ({ seq: at + 1, ts, type, session_id: id, turn_id, data }))
    const response = await fetch(`${this.url}/api/sessions/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.token}` },
      body: [header, ...lines].map((line) => JSON.stringify(line)).join('\n'),
    })
    if (response.status !== 201) throw new Error(`import: ${response.status} ${await response.text()}`)
  }

  /** One turn of a made-up past. */
  static turn(id, events) {
    return [
      ['session_ready', { session_id: id, runtime: 'mock', title: id }],
      ['user_message', { message_id: 'm1', content: [{ type: 'text', text: 'go' }], origin: 'user' }, 't1'],
      ['turn_started', { message_ids: ['m1'], origin: 'user' }, 't1'],
      ...events.map(([type, data]) => [type, data, 't1']),
      ['done', { outcome: 'completed' }, 't1'],
    ]
  }

  async say(id, message) {
    await this.call('POST', `/api/sessions/${id}/message`, { message })
  }

  async untilIdle(id) {
    await eventually('the session is idle', async () => {
      const session = await this.call('GET', `/api/sessions/${id}`)
      return session.turn === undefined && session.queued === 0
    })
  }

  /** The text of the newest message of the agent, by the view that is the truth. */
  async content(id) {
    const view = await this.call('GET', `/api/sessions/${id}/view?messages=500`)
    return view.messages.findLast((message) => message.role === 'agent').content
  }

  async end() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill()
    await rm(this.data, { recursive: true, force: true })
  }
}

let browser

export async function launch() {
  browser ??= await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync',
    ],
  })
  return browser
}

export async function close() {
  await browser?.close()
}

/** A page that is signed in, with everything that went wrong in it. */
export async function open(daemon, { hash = '', ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  const wrong = []
  const elsewhere = []
  page.on('pageerror', (error) => wrong.push(String(error)))
  page.on('console', (message) => {
    // A lost connection is said in the console too; that is not ours to prevent.
    if (message.type() === 'error' && !/Failed to load resource|ERR_CONNECTION/.test(message.text())) wrong.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(daemon.url) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url())
  })
  const { path } = await daemon.call('POST', '/api/login-links', {})
  await page.goto(daemon.url + path)
  if (hash) await page.goto(`${daemon.url}/${hash}`)
  return { page, context, wrong, elsewhere }
}

export const conversation = (page) => page.getByRole('log', { name: 'Conversation' })
export const composer = (page) => page.getByLabel('Message', { exact: true })

export async function send(page, text) {
  await composer(page).fill(text)
  const said = (request) => request.method() === 'POST' && request.url().endsWith('/message')
  const answered = Promise.race([page.waitForEvent('requestfinished', said), page.waitForEvent('requestfailed', said)])
  await composer(page).press('Enter')
  await answered
}
