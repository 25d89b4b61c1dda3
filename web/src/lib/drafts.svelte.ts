// What is being written, one draft for each session in each window. Words are in local storage at once, attachments in the browser's database.
// A window that is closed leaves its drafts to the next one; windows that live do not touch each other's.

import { newId } from 'turnloom'
import type { Attachment } from './attachments'
import { removeValue, putValue, getValue } from './database'
import { hold } from './draftLocks'
import { load, namesUnder, store } from './storage'

const textName = (session: string, id: string) => `draft.${session}.${id}`
const filesKey = (session: string, id: string) => `draft/${session}/${id}`
const ID = /^[0-9a-f-]{36}$/

/** Drafts of this window, by session. */
const own = new Map<string, Draft>()

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
    // A window that was duplicated has its words, and goes on by itself.
    if (!(await hold(this.id))) {
      this.id = newId()
      this.#remember()
      this.#keepText()
      await Promise.all([hold(this.id), this.#keepFiles()])
    }
    if (this.isEmpty) await this.#adopt()
  }

  /** Takes over what closed windows have left, as long as nothing is being written here. */
  async #adopt(): Promise<void> {
    let adopted = ''
    const take = async (id: string) => {
      const release = await hold(id)
      if (!release) return
      const files = (await getValue<Attachment[]>(filesKey(this.session, id))) ?? []
      if (this.#text === adopted) {
        this.text = adopted = [adopted, textOf(this.session, id)].filter(Boolean).join('\n\n')
        if (files.length > 0) this.attachments = [...this.#attachments, ...files]
        store(textName(this.session, id), undefined)
        await removeValue(filesKey(this.session, id))
      }
      release()
    }
    const others = storedIds(this.session).filter((id) => id !== this.id)
    await Promise.all(others.map(take))
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
