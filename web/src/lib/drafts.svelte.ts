// What is being written, one draft for each session in each window. Words are in local storage at once, attachments in the browser's database.
// A window that is closed leaves its drafts to the next one; windows that live do not touch each other's.

import { newId } from 'turnloom'
import type { Attachment } from './attachments'
import { removeValue, putValue, getValue } from './database'
import { load, namesUnder, store } from './storage'

/** How long other windows have to say which drafts are theirs. */
const ANSWER_MS = 150

const textName = (session: string, id: string) => `draft.${session}.${id}`
const filesKey = (session: string, id: string) => `draft/${session}/${id}`
const ID = /^[0-9a-f-]{36}$/

type TabMessage = { ask: string } | { holds: string; id: string }

/** Drafts of this window, by session. */
const own = new Map<string, Draft>()
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('turnloom.drafts')
const listeners = new Set<(message: TabMessage) => void>()
if (channel)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    const mine = 'ask' in data ? own.get(data.ask) : undefined
    if (mine) channel.postMessage({ holds: mine.session, id: mine.id })
    for (const listener of listeners) listener(data)
  }

/** The drafts of a session that other windows hold. */
async function heldElsewhere(session: string): Promise<Set<string>> {
  const held = new Set<string>()
  const listener = (message: TabMessage) =>
    void ('holds' in message && message.holds === session && held.add(message.id))
  listeners.add(listener)
  channel?.postMessage({ ask: session })
  await new Promise((resolve) => setTimeout(resolve, ANSWER_MS))
  listeners.delete(listener)
  return held
}

export class Draft {
  #text = $state('')
  #attachments = $state.raw<Attachment[]>([])
  /** A message that waits and is being edited in its place; it is there again for whoever comes back to the session. */
  editing = $state<{ id: string; text: string }>()
  id: string

  constructor(readonly session: string) {
    this.id = load(`draft.${session}`, '', 'sessionStorage') || newId()
    own.set(session, this)
    this.#remember()
    this.#text = textOf(session, this.id)
    void this.#restore()
  }

  get text(): string {
    return this.#text
  }
  set text(text: string) {
    this.#text = text
    this.#keepText()
  }

  get attachments(): Attachment[] {
    return this.#attachments
  }
  set attachments(attachments: Attachment[]) {
    this.#attachments = attachments
    this.#keepText()
    void this.#keepFiles()
  }

  get isEmpty(): boolean {
    return this.#text.trim() === '' && this.#attachments.length === 0
  }

  /** Empties it; what is stored goes only when it is kept elsewhere. */
  async sent(keptElsewhere: Promise<unknown>): Promise<void> {
    this.#text = ''
    this.#attachments = []
    await keptElsewhere
    // Something new may have been written meanwhile.
    this.#keepText()
    await this.#keepFiles()
  }

  /** Puts something back in front of what is being written. */
  putBack(text: string, attachments: Attachment[] = []): void {
    const words = this.#text.trim()
    this.text = words && words !== text ? [text, this.#text].filter(Boolean).join('\n\n') : text || this.#text
    if (attachments.length > 0) this.attachments = [...attachments, ...this.#attachments]
  }

  #remember(): void {
    store(`draft.${this.session}`, this.id, 'sessionStorage')
  }

  #keepText(): void {
    const nothing = this.#text === '' && this.#attachments.length === 0
    const stored: Stored = { text: this.#text }
    store(textName(this.session, this.id), nothing ? undefined : stored)
  }

  async #keepFiles(): Promise<void> {
    const key = filesKey(this.session, this.id)
    await (this.#attachments.length > 0 ? putValue(key, this.#attachments) : removeValue(key))
  }

  async #restore(): Promise<void> {
    const files = await getValue<Attachment[]>(filesKey(this.session, this.id))
    if (files && this.#attachments.length === 0) this.#attachments = files
    const stored = storedIds(this.session)
    if (stored.length === 0) return
    const elsewhere = await heldElsewhere(this.session)
    // A window that was duplicated has its words, and goes on by itself.
    if (elsewhere.has(this.id)) {
      this.id = newId()
      this.#remember()
      this.#keepText()
      await this.#keepFiles()
    }
    if (!this.isEmpty) return
    for (const id of stored.filter((other) => other !== this.id && !elsewhere.has(other))) await this.#adopt(id)
  }

  /** Takes over what a closed window has left. */
  async #adopt(id: string): Promise<void> {
    const text = textOf(this.session, id)
    const files = (await getValue<Attachment[]>(filesKey(this.session, id))) ?? []
    this.text = [this.#text, text].filter(Boolean).join('\n\n')
    if (files.length > 0) this.attachments = [...this.#attachments, ...files]
    store(textName(this.session, id), undefined)
    await removeValue(filesKey(this.session, id))
  }
}

export const draftOf = (session: string): Draft => own.get(session) ?? new Draft(session)

/** Drafts of a session that are stored, whoever wrote them. */
const storedIds = (session: string) => namesUnder(textName(session, '')).filter((id) => ID.test(id))

/** What is in local storage for a draft; attachments alone have an entry too, so that they are found. */
interface Stored {
  text: string
}
const textOf = (session: string, id: string) => load<Stored>(textName(session, id), { text: '' }).text
