// One session as the page holds it: its view, its connection, what was sent and is not in the view yet. Not here: how it looks.

import { untrack } from 'svelte'
import type { Op, StreamOptions, View, When } from 'turnloom'
import { api } from './api'
import type { Attachment } from './attachments'
import { Memory } from './components/memory.svelte'
import { Surfaces } from './components/surfaces.svelte'
import { connect, type Connection } from './connection'
import { draftOf } from './drafts.svelte'
import { outbox, type Outgoing } from './outbox.svelte'
import { problemOf, type Problem } from './problem'
import { timings } from './timings.svelte'
import { holdsCall } from './tools'

/** Messages on the first page, and on each older one. */
const PAGE = 30
/** Sessions that stay in memory after they were left, so that coming back is instant. */
const KEPT = 8

export class Conversation {
  view = $state<View>()
  connection = $state<Connection>({ state: 'connecting' })
  /** The newest position the daemon has told of. */
  head = $state(0)
  lastEventAt = $state(0)
  loadingOlder = $state(false)
  stopping = $state(false)
  /** Why a turn that somebody wanted to stop runs on. */
  notStopped = $state.raw<{ turn: string; problem: Problem }>()
  /** Where the person was reading when the session was left. */
  place: { top: number; following: boolean } = { top: 0, following: true }
  /** What is open beside and above it. */
  readonly surfaces: Surfaces
  /** What was typed and chosen in its components. */
  readonly memory = new Memory()
  #activation: AbortController | undefined

  constructor(readonly id: string) {
    this.surfaces = new Surfaces(id)
  }

  /** What was sent from here and is not in the view yet. */
  get outbox(): Outgoing[] {
    return outbox.of(this.id)
  }

  /** What is being written here. */
  get draft() {
    return draftOf(this.id)
  }

  get running(): boolean {
    return this.view?.session.turn !== undefined
  }

  activate(): void {
    this.#activation?.abort()
    const activation = new AbortController()
    this.#activation = activation
    const live = () => this.#activation === activation
    const onState = (connection: Connection) => {
      if (!live()) return
      this.connection = connection
      if (connection.state === 'live') timings.mark('live')
    }
    void connect((options) => this.#follow(options), onState, activation.signal)
  }

  /** Late answers for a session that was left are dropped. */
  deactivate(): void {
    this.#activation?.abort()
    this.#activation = undefined
    outbox.leave(this.id)
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

  async #follow(options: StreamOptions): Promise<void> {
    const stream = api.streamView(this.id, {
      ...options,
      view: this.view,
      // What is changed in place is what the page draws, so that it sees each change.
      hold: (snapshot) => {
        this.view = snapshot
        return this.view
      },
      messages: PAGE,
      onChanges: (changes) => this.#time(changes),
      onHeartbeat: (head) => this.#heard(head),
    })
    for await (const view of stream) {
      this.#heard(view.seq)
      if (view.session.turn === undefined) this.stopping = false
      this.#clearOutbox(view)
    }
  }

  #heard(head: number): void {
    this.lastEventAt = Date.now()
    this.head = Math.max(this.head, head)
  }

  #time(changes: readonly Op[]): void {
    timings.arrived()
    timings.mark('first_event')
    for (const op of changes) {
      if (op.op === 'set' && op.path.length === 0 && op.fields['activity']) timings.mark('first_status')
      if (bringsText(op) && !timings.has('first_text')) {
        // A quick turn comes in one piece: its status is over when its text is there.
        timings.mark('first_status')
        timings.mark('first_text')
        timings.markPaint('painted')
      }
    }
  }

  #clearOutbox(view: View): void {
    if (this.outbox.length === 0) return
    const known = new Set([
      ...view.messages.map((message) => message.id),
      ...[...view.queue, ...view.steers].map((waiting) => waiting.message_id),
    ])
    outbox.settle(this.id, (message_id) => known.has(message_id))
  }

  /** Sends what is in the draft, or other words. */
  send(text: string, attachments: Attachment[], when: When): Promise<void> {
    timings.mark('submit')
    const { isKept } = outbox.send(this.id, text, attachments, when)
    timings.markPaint('shown')
    return isKept
  }

  async stop(): Promise<void> {
    const turn = this.view?.session.turn
    if (turn === undefined || this.stopping) return
    this.stopping = true
    this.notStopped = undefined
    try {
      // A person who stops a turn wants to look first, so the queue is held.
      await api.stop(this.id, { then: 'hold' })
    } catch (error) {
      this.notStopped = { turn, problem: problemOf(error) }
    } finally {
      this.stopping = false
    }
  }

  /** Brings older messages until a call is among them. Says whether it is. */
  async bring(call: string): Promise<boolean> {
    for (;;) {
      const view = this.view
      if (view?.messages.some(({ blocks }) => holdsCall(blocks, call))) return true
      const before = view?.before
      if (before === undefined) return false
      await this.older()
      if (this.view?.before === before) return false
    }
  }

  /** Gives what somebody waits for. */
  answer(askId: string, value: unknown): Promise<unknown> {
    return api.answerInterrupt(this.id, askId, value)
  }

  async older(): Promise<void> {
    const before = this.view?.before
    const signal = this.#activation?.signal
    if (!before || !signal || this.loadingOlder) return
    this.loadingOlder = true
    try {
      const page = await api.getView(this.id, { before, messages: PAGE }, { signal })
      if (signal.aborted || !this.view || this.view.before !== before) return
      const known = new Set(this.view.messages.map((message) => message.id))
      this.view.messages.unshift(...page.messages.filter((message) => !known.has(message.id)))
      if (page.before) this.view.before = page.before
      else delete this.view.before
    } catch {
      // The next scroll to the top asks again.
    } finally {
      this.loadingOlder = false
    }
  }
}

/** Whether a change brings words of the agent: more of a block, a block, or a message that is already there. */
function bringsText(op: Op): boolean {
  if (op.op === 'append') return op.field === 'text'
  if (op.op !== 'insert') return false
  if ('kind' in op.node) return op.node.kind === 'text'
  return 'blocks' in op.node && op.node.role === 'agent' && op.node.blocks.some(({ kind }) => kind === 'text')
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
