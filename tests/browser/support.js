// What the browser tests share: the real daemon on a data directory of its own, and a real browser signed in to it.

import { rm } from 'node:fs/promises'

import { chromium } from 'playwright-core'

import { Daemon as RealDaemon, PATIENCE, eventually } from '../support/daemon.js'

export { PATIENCE, eventually }

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** A daemon as a person starts it, and sessions that are worth looking at. */
export class Daemon extends RealDaemon {
  static start(args = [], config = '') {
    return super.start({ args, config })
  }

  /** A mock session that talks as fast as it can and is called by its id. */
  session(id, params = {}) {
    return super.session(id, { title: id, ...params })
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
      headers: this.headers,
      body: [header, ...lines].map((line) => JSON.stringify(line)).join('\n'),
    })
    if (response.status !== 201) throw new Error(`import: ${response.status} ${await response.text()}`)
  }

  /** Lets a session from a file run, which asks before its first turn; from then on it talks as fast as it can. */
  async agree(id) {
    await this.say(id, 'echo ready')
    await this.answer(id)
    await this.untilIdle(id)
    await this.call('PATCH', `/api/sessions/${id}`, { settings: { pace_ms: 0 } })
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
      const session = await this.show(id)
      return session.turn === undefined && session.queued === 0
    })
  }

  /** The text of the newest message of the agent, by the view that is the truth. */
  async content(id) {
    const view = await this.call('GET', `/api/sessions/${id}/view?messages=500`)
    return view.messages.findLast((message) => message.role === 'agent').content
  }

  /** Whatever it is doing; nobody needs it any more. */
  async end() {
    await this.kill()
    await rm(this.data, { recursive: true, force: true })
  }
}

let browser

export async function launch() {
  browser ??= await chromium.launch({
    executablePath: CHROMIUM,
    timeout: PATIENCE,
    // People have scrollbars.
    ignoreDefaultArgs: ['--hide-scrollbars'],
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

/**
 * A page that is signed in, with everything that went wrong in it. With `sse` it has no WebSockets: what it follows are requests, which a test can see
 * and hold.
 */
export async function open(daemon, { hash = '', sse = false, ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options })
  if (sse) await context.addInitScript(() => ['SharedWorker', 'WebSocket'].forEach((name) => delete globalThis[name]))
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  const wrong = []
  const elsewhere = []
  page.on('pageerror', (error) => wrong.push(String(error)))
  page.on('console', (message) => {
    // A lost connection is said in the console too, and that a context of a test has no push service; that is not ours to prevent.
    const theirs = /Failed to load resource|ERR_CONNECTION|Push API in incognito/
    if (message.type() === 'error' && !theirs.test(message.text())) wrong.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(daemon.url) && !/^(data|blob):/.test(request.url())) elsewhere.push(request.url())
  })
  const { path } = await daemon.call('POST', '/api/login-links', {})
  await page.goto(daemon.url + path)
  if (hash) await page.goto(`${daemon.url}/${hash}`)
  return { page, context, wrong, elsewhere }
}

/** Shows a view that is made up in place of a session's own, and holds whatever would come after it. The page must have been opened with `sse`. */
export async function showView(page, id, view) {
  let shown = false
  await page.route(`**/api/sessions/${id}/view/stream*`, (route) => {
    if (shown) return undefined
    shown = true
    return route.fulfill({ contentType: 'text/event-stream', body: `id: ${view.seq}\nevent: snapshot\ndata: ${JSON.stringify(view)}\n\n` })
  })
}

export const conversation = (page) => page.getByRole('log', { name: 'Conversation' })
export const composer = (page) => page.getByLabel('Message', { exact: true })

/** A page tells later than the address that it has gone elsewhere; what is done before that is done to the session that was left. */
export const isShown = (page, title) => {
  const titles = [`${title} · Turnloom`, `) ${title} · Turnloom`]
  return eventually(`${title} is shown`, async () => {
    const shown = await page.title()
    return shown === titles[0] || shown.endsWith(titles[1])
  })
}

/** To the first message that is there, as a person goes: by key. */
export async function toTop(page) {
  await conversation(page).focus()
  await page.keyboard.press('Home')
}

export async function send(page, text) {
  await composer(page).fill(text)
  const said = (request) => request.method() === 'POST' && request.url().endsWith('/message')
  const answered = Promise.race([page.waitForEvent('requestfinished', said), page.waitForEvent('requestfailed', said)])
  await composer(page).press('Enter')
  await answered
}
