// Messages on their way to the daemon, of all sessions. Each is kept by the browser from the moment it is sent until the daemon has taken it, so
// that neither a lost connection nor a reload loses it. It keeps its id, so the daemon takes it once, however often it is sent.

import { newId, TurnloomError, type MessagePart, type When } from 'turnloom'
import { api } from './api'
import type { Attachment } from './attachments'
import { removeValue, putValue, getValues, getValue } from './database'
import { timings } from './timings.svelte'

const HOUR = 3_600_000
/** What is older is not sent by itself any more: nobody expects it by then. */
const SENT_ALONE = 12 * HOUR
/** What is older belongs to a session that is gone. */
const KEPT_FOR = 30 * 24 * HOUR

export interface Outgoing {
  session: string
  message_id: string
  text: string
  attachments: Attachment[]
  when: When
  /** When a person sent it. */
  at: number
  accepted: boolean
  /** Why it is still here. */
  error?: TurnloomError | undefined
}

type Stored = Omit<Outgoing, 'accepted' | 'error'>

const keyOf = ({ session, message_id }: Stored) => `outbox/${session}/${message_id}`

class Outbox {
  all = $state.raw<Outgoing[]>([])
  #retrying = false

  of(session: string): Outgoing[] {
    return this.all.filter((outgoing) => outgoing.session === session)
  }

  /** Takes up what earlier pages could not send. */
  async start(): Promise<void> {
    const stored = (await getValues<Stored>('outbox/')).sort((a, b) => a.at - b.at)
    const error = new TurnloomError(0, { code: 'not_sent', detail: 'This message was not sent.' })
    for (const outgoing of stored) {
      if (Date.now() - outgoing.at > KEPT_FOR) void removeValue(keyOf(outgoing))
      else if (!this.#find(outgoing)) this.#put({ ...outgoing, accepted: false, error })
    }
    await this.retry()
  }

  /** Sends a message. From `isKept` on it is safe, with the browser or with the daemon. */
  send(
    session: string,
    text: string,
    attachments: Attachment[],
    when: When,
  ): { message_id: string; isKept: Promise<void> } {
    const stored: Stored = { session, message_id: newId(), text, attachments, when, at: Date.now() }
    this.#put({ ...stored, accepted: false })
    const keeping = putValue(keyOf(stored), stored)
    // One that the daemon did not take is safe only with the browser.
    const delivered = this.deliver(stored).then((taken) => (taken ? undefined : keeping))
    return { message_id: stored.message_id, isKept: Promise.race([keeping, delivered]) }
  }

  /** Sends, or sends again; says whether the daemon has taken it. */
  async deliver(stored: Stored): Promise<boolean> {
    const { session, message_id, when } = stored
    this.#change(stored, { error: undefined })
    timings.mark('sent')
    try {
      await api.postMessage(session, { message: contentOf(stored), message_id, when })
      timings.mark('accepted')
      this.#change(stored, { accepted: true })
      void removeValue(keyOf(stored))
      return true
    } catch (error) {
      this.#change(stored, { error: error as TurnloomError })
      return false
    }
  }

  /** The daemon answers again: what it did not hear is said again, in order. What it refused would be refused again. */
  async retry(): Promise<void> {
    if (this.#retrying) return
    this.#retrying = true
    const waiting = this.all.filter(({ at, error }) => mayPass(error) && Date.now() - at < SENT_ALONE)
    for (const outgoing of waiting) {
      // Another window may have taken it back or sent it.
      if (!(await getValue(keyOf(outgoing)))) this.#drop(outgoing)
      // So may somebody here, meanwhile.
      else if (this.#find(outgoing)) await this.deliver(outgoing)
    }
    this.#retrying = false
  }

  /** What the view shows by itself does not have to be shown as sent. */
  settle(session: string, isKnown: (message_id: string) => boolean): void {
    for (const outgoing of this.of(session)) if (isKnown(outgoing.message_id)) void this.discard(outgoing)
  }

  /** Messages that were taken while nobody looked are in the log by now. */
  leave(session: string): void {
    for (const outgoing of this.of(session)) if (outgoing.accepted) this.#drop(outgoing)
  }

  /** Resolves when no page will send it any more. */
  async discard(outgoing: Stored): Promise<void> {
    this.#drop(outgoing)
    await removeValue(keyOf(outgoing))
  }

  #find({ message_id }: Stored): Outgoing | undefined {
    return this.all.find((other) => other.message_id === message_id)
  }
  #put(outgoing: Outgoing): void {
    this.all = [...this.all, outgoing]
  }
  #drop({ message_id }: Stored): void {
    this.all = this.all.filter((other) => other.message_id !== message_id)
  }
  #change({ message_id }: Stored, change: Partial<Outgoing>): void {
    this.all = this.all.map((other) => (other.message_id === message_id ? { ...other, ...change } : other))
  }
}

/** Whether the same message can be taken later: the daemon was away, busy, or did not know this browser. */
export const mayPass = (error: TurnloomError | undefined) =>
  error !== undefined && (error.status === 0 || error.status === 401 || error.status >= 500)

function contentOf({ text, attachments }: Stored): string | MessagePart[] {
  if (attachments.length === 0) return text
  return [...(text ? [{ type: 'text' as const, text }] : []), ...attachments.map(({ part }) => part)]
}

export const outbox = new Outbox()
