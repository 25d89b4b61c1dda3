// One session as the page holds it: its view, its connection, what was sent and is not in the view yet. Not here: how it looks.

import { untrack } from 'svelte'
import { api, asProblem, newId, type Problem, type When } from './api'
import type { Attachment } from './attachments'
import { connect, type Connection } from './connection'
import type { ServerEvent } from 'turnloom/sse'
import { timings } from './timings.svelte'
import type { Message, Part, View } from './types'
import { apply, reconcile, type Op } from 'turnloom/view'

/** Messages on the first page, and on each older one. */
const PAGE = 30
/** Sessions that stay in memory after they were left, so that coming back is instant. */
const KEPT = 8

export interface Outgoing {
  message_id: string
  content: string | Part[]
  when: When
  accepted: boolean
  problem?: Problem
}

export class Conversation {
  view = $state<View>()
  connection = $state<Connection>({ state: 'connecting' })
  /** The newest position the daemon has told of. */
  head = $state(0)
  lastEventAt = $state(0)
  outbox = $state<Outgoing[]>([])
  loadingOlder = $state(false)
  stopping = $state(false)
  /** What is to be sent with the next message; the words of the draft are kept by the browser. */
  attachments = $state.raw<Attachment[]>([])
  /** Where the person was reading when the session was left. */
  place: { top: number; following: boolean } = { top: 0, following: true }
  #activation: AbortController | undefined
  /** The words that were sent from here, by message: the daemon's queue shows only their first line. */
  readonly #words = new Map<string, string>()

  constructor(readonly id: string) {}

  get running(): boolean {
    return this.view?.session.turn !== undefined
  }

  activate(): void {
    this.#activation?.abort()
    const activation = new AbortController()
    this.#activation = activation
    const live = () => this.#activation === activation
    void connect(
      (signal) => api.viewStream(this.id, this.view?.seq, PAGE, signal),
      {
        onEvent: (event) => live() && this.#take(event),
        onState: (connection) => live() && (this.connection = connection),
      },
      activation.signal,
    )
  }

  /** Late answers for a session that was left are dropped. */
  deactivate(): void {
    this.#activation?.abort()
    this.#activation = undefined
    // Who comes back to the end finds it there at once; older pages are asked for again.
    const view = this.view
    if (!view || !this.place.following || view.messages.length <= PAGE) return
    view.messages = view.messages.slice(-PAGE)
    const first = view.messages[0]
    if (first) view.before = first.id
  }

  retry(): void {
    this.activate()
  }

  #take({ event, data }: ServerEvent): void {
    this.lastEventAt = Date.now()
    if (event === 'heartbeat') {
      this.head = Math.max(this.head, (JSON.parse(data) as { head: number }).head)
    } else if (event === 'snapshot') {
      const snapshot = JSON.parse(data) as View
      if (this.view) reconcile(this.view, snapshot)
      else this.view = snapshot
      this.#seen(snapshot.seq)
    } else if (event === 'ops' && this.view) {
      const { seq, ops } = JSON.parse(data) as { seq: number; ops: Op[] }
      // What is in the view already is never applied again: text is not doubled.
      if (seq <= this.view.seq) return
      timings.arrived()
      timings.mark('first_event')
      for (const op of ops) {
        apply(this.view, op)
        this.#time(op)
      }
      this.view.seq = seq
      this.#seen(seq)
    }
  }

  #seen(seq: number): void {
    this.head = Math.max(this.head, seq)
    if (this.view?.session.turn === undefined) this.stopping = false
    if (this.outbox.length > 0) this.#clearOutbox()
  }

  #time(op: Op): void {
    if (op.op === 'set' && op.path.length === 0 && op.fields['activity']) timings.mark('first_status')
    const text = op.op === 'append' ? op.field === 'text' : op.op === 'insert' && op.node['kind'] === 'text'
    if (text && !timings.has('first_text')) {
      timings.mark('first_text')
      timings.markPaint('painted')
    }
  }

  /** What the view shows by itself does not have to be shown as sent. */
  #clearOutbox(): void {
    const view = this.view
    if (!view) return
    const known = (id: string) =>
      view.messages.some((message) => message.id === id) ||
      [...view.queue, ...view.steers].some((waiting) => waiting.message_id === id)
    this.outbox = this.outbox.filter((outgoing) => !known(outgoing.message_id))
  }

  async send(content: string | Part[], when: When): Promise<void> {
    const message_id = newId()
    if (typeof content === 'string') this.#words.set(message_id, content)
    this.outbox.push({ message_id, content, when, accepted: false })
    const outgoing = this.outbox.at(-1)
    if (outgoing) await this.deliver(outgoing)
  }

  /** Sends, or sends again: the message keeps its id, so the daemon takes it once. */
  async deliver(outgoing: Outgoing): Promise<void> {
    delete outgoing.problem
    timings.mark('sent')
    try {
      await api.send(this.id, $state.snapshot(outgoing.content) as string | Part[], outgoing.message_id, outgoing.when)
      timings.mark('accepted')
      outgoing.accepted = true
      this.#clearOutbox()
    } catch (error) {
      outgoing.problem = asProblem(error)
    }
  }

  /** All of a message that was sent from this page, as long as it has only words. */
  wordsOf(message_id: string): string | undefined {
    return this.#words.get(message_id)
  }

  discard(outgoing: Outgoing): void {
    this.outbox = this.outbox.filter((other) => other.message_id !== outgoing.message_id)
  }

  async stop(): Promise<void> {
    if (!this.running || this.stopping) return
    this.stopping = true
    try {
      await api.stop(this.id)
    } finally {
      this.stopping = false
    }
  }

  async older(): Promise<void> {
    const before = this.view?.before
    const signal = this.#activation?.signal
    if (!before || !signal || this.loadingOlder) return
    this.loadingOlder = true
    try {
      const page = await api.view(this.id, before, PAGE, signal)
      if (signal.aborted || !this.view || this.view.before !== before) return
      const known = new Set(this.view.messages.map((message) => message.id))
      this.view.messages.unshift(...page.messages.filter((message: Message) => !known.has(message.id)))
      if (page.before) this.view.before = page.before
      else delete this.view.before
    } catch {
      // The next scroll to the top asks again.
    } finally {
      this.loadingOlder = false
    }
  }
}

const kept = new Map<string, Conversation>()

class Current {
  conversation = $state.raw<Conversation>()

  open(id: string | undefined): void {
    untrack(() => {
      if (this.conversation?.id === id) return
      this.conversation?.deactivate()
      if (id === undefined) {
        this.conversation = undefined
        return
      }
      timings.mark('open')
      const conversation = kept.get(id) ?? new Conversation(id)
      kept.delete(id)
      kept.set(id, conversation)
      const oldest = kept.keys().next().value
      if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest)
      conversation.activate()
      this.conversation = conversation
    })
  }
}

export const current = new Current()
