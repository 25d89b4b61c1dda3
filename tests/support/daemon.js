// What all tests in JavaScript share: the real daemon with the mock agent, and a way to wait that is not a sleep.

import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = process.env.TURNLOOM_PROGRAM
/** However busy the machine is: what has not come by then does not come. */
export const PATIENCE = 120_000

/** Asks until there is an answer. */
export async function eventually(what, ask) {
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A daemon in a process of its own. */
export class Daemon {
  /** `config` is its settings, `args` are further words for `turnloom up`. */
  static async start({ config = '', args = ['--no-sample'] } = {}) {
    const daemon = new this()
    daemon.args = args
    daemon.data = await mkdtemp(join(tmpdir(), 'turnloom-tests-'))
    await writeFile(join(daemon.data, 'config.toml'), config)
    await daemon.run('0')
    return daemon
  }

  async run(port) {
    // The one that was killed has left it.
    await rm(join(this.data, 'daemon.json'), { force: true })
    const args = ['up', '--no-open', ...this.args, '--port', port, '--data', this.data]
    this.child = spawn(PROGRAM, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    this.ended = new Promise((resolve) => this.child.once('exit', resolve))
    const found = await eventually('the daemon listens', () => readFile(join(this.data, 'daemon.json'), 'utf8').catch(() => null))
    this.url = JSON.parse(found).url
    this.token = (await readFile(join(this.data, 'token'), 'utf8')).trim()
    this.headers = { authorization: `Bearer ${this.token}` }
  }

  async kill() {
    this.child.kill('SIGKILL')
    await this.ended
  }

  /** As a person would who wants it to end in order. */
  async terminate() {
    this.child.kill('SIGTERM')
    await this.ended
  }

  /** The next daemon, at the same address. */
  async again() {
    await this.run(new URL(this.url).port)
  }

  async stop() {
    await this.terminate()
    await rm(this.data, { recursive: true, force: true })
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...this.headers, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

  /** A mock session that talks as fast as it can. */
  session(id, params = {}) {
    return this.call('POST', '/api/sessions', { session_id: id, runtime: 'mock', params: { pace_ms: 0, ...params } })
  }

  show(id) {
    return this.call('GET', `/api/sessions/${id}`)
  }

  /** The whole log, page by page. */
  async events(id) {
    const events = []
    for (let after = 0; ; ) {
      const page = await this.call('GET', `/api/sessions/${id}/events?after=${after}&limit=10000`)
      events.push(...page.events)
      if (!page.has_more) return events
      after = page.next
    }
  }

  /** Answers the ask that waits, as another surface would. */
  async answer(id, yes = true) {
    await this.give(id, await eventually('an ask', () => this.ask(id)), yes)
  }

  /** What waits, if something does. */
  async ask(id) {
    return (await this.call('GET', '/api/asks')).asks.find((ask) => ask.session_id === id)
  }

  async give(id, ask, yes) {
    const to = `/api/sessions/${id}`
    if (ask.kind === 'permission') await this.call('POST', `${to}/permissions/${ask.ask_id}`, { reply: yes ? 'once' : 'reject' })
    else if (ask.kind === 'question') await this.call('POST', `${to}/questions/${ask.ask_id}`, { answers: [['Silk'], ['Weld']] })
    else await this.call('POST', `${to}/interrupt/${ask.ask_id}`, { value: '2026-12-24' })
  }

  /** The events of a session, as they come. */
  async *follow(id) {
    const response = await fetch(`${this.url}/api/sessions/${id}/events`, { headers: { ...this.headers, accept: 'text/event-stream' } })
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + piece).split('\n\n')
      rest = frames.pop()
      for (const frame of frames) {
        const data = frame.split('\n').find((line) => line.startsWith('data: '))
        if (data && frame.startsWith('id:')) yield JSON.parse(data.slice(6))
      }
    }
  }
}
