// The page of a component in its frame: what it is told, what it asks for, and what became of it. Nothing of this page is within its reach. Not here:
// where frames stand (`frames.ts`), and how the talk goes (`host.ts`).

import type { ComponentEntry } from 'turnloom'
import { linkOf, type Link } from '../components/links'
import type { Surface } from '../components/places'
import { ViewHost, type DisplayMode, type ViewComponent, type ViewSurroundings } from './host'

/** Whoever shows the frame: what is done there is done for it. */
export interface Holder {
  /** Where the frame stands. */
  place: HTMLElement
  surface: Surface
  callback: (action: string, payload: unknown) => Promise<{ seq: number }>
  resolve: (value: unknown) => Promise<unknown>
  getState: () => Promise<unknown>
  patchState: (patch: unknown) => Promise<unknown>
  send: (text: string) => Promise<unknown>
  displayMode: (wanted: DisplayMode) => DisplayMode
}

/** Words of a page that are sent when the person says so. */
export interface WaitingMessage {
  text: string
  decide: (send: boolean) => Promise<void>
}

const VERSION = '1'
/** A page that has not said how tall it is. */
const FIRST_HEIGHT = 120
const LEAST_HEIGHT = 24

/** Only what the person has just touched may answer for them, or take more room. Browsers that do not tell are believed. */
const isTouched = () => (navigator as { userActivation?: { isActive: boolean } }).userActivation?.isActive !== false

export class ViewFrame {
  readonly url: string
  readonly element: HTMLIFrameElement
  /** What is wrong, when it was given up. */
  problem = $state<string>()
  /** It has said that it is done. */
  closed = $state(false)
  ready = $state(false)
  height = $state(FIRST_HEIGHT)
  message = $state.raw<WaitingMessage>()
  link = $state.raw<Link>()
  /** Who shows it now. */
  holder = $state.raw<Holder>()
  /** Somebody has been in it, so there may be something in it that is nowhere else. */
  touched = false
  readonly #host: ViewHost
  readonly #ended = new AbortController()
  #loads = 0

  constructor(
    entry: ComponentEntry,
    title: string,
    component: ViewComponent,
    surroundings: ViewSurroundings,
    height?: number,
  ) {
    this.url = entry.view?.url ?? ''
    if (height !== undefined) this.height = height
    const { signal } = this.#ended
    const element = document.createElement('iframe')
    element.setAttribute('sandbox', 'allow-scripts allow-forms')
    element.setAttribute('allow', '')
    element.setAttribute('referrerpolicy', 'no-referrer')
    element.title = title
    element.src = this.url
    this.element = element
    this.#host = new ViewHost({
      version: VERSION,
      component,
      surroundings,
      callbacks: (entry.callbacks ?? []).map(({ name }) => name),
      mayUseState: entry.view?.state === true,
      actions: {
        callback: (action, payload) => this.#held().callback(action, payload),
        resolve: async (value) => {
          if (!isTouched()) throw new Error('nobody has done anything in the view')
          await this.#held().resolve(value)
        },
        getState: () => this.#held().getState(),
        patchState: (patch) => this.#held().patchState(patch),
        message: (text) => this.#ask(text),
        context: async (content) => void (await this.#held().callback('context', content)),
        openLink: (url) => {
          const link = linkOf(url)
          if (link) this.link = link
          return link !== undefined
        },
        displayMode: (wanted) => this.#held().displayMode(isTouched() ? wanted : 'inline'),
      },
      post: (message) => element.contentWindow?.postMessage(message, '*'),
      onReady: () => (this.ready = true),
      onSize: ({ height }) => {
        if (height !== undefined && this.holder) this.height = Math.max(LEAST_HEIGHT, Math.ceil(height))
      },
      onTeardown: () => void this.close('it was asked to').then(() => (this.closed = true)),
      onProblem: (problem) => this.#giveUp(problem),
    })
    // Heard before the frame is in the document; and from its own window only.
    window.addEventListener(
      'message',
      ({ source, data }: MessageEvent) => {
        if (source !== null && source === element.contentWindow) this.#host.take(data)
      },
      { signal },
    )
    window.addEventListener('blur', () => (this.touched ||= document.activeElement === element), { signal })
    element.addEventListener(
      'load',
      () => {
        this.#loads += 1
        // What comes second is not what was installed.
        if (this.#loads > 1) this.#giveUp('It went to another page.')
      },
      { signal },
    )
  }

  get over(): boolean {
    return this.problem !== undefined || this.closed
  }

  update(component: ViewComponent): void {
    this.#host.update(component)
  }

  surround(surroundings: ViewSurroundings): void {
    this.#host.surround(surroundings)
  }

  /** Lets it say goodbye, and takes it away. */
  async close(reason: string): Promise<void> {
    await this.#host.close(reason)
    this.#end()
  }

  #held(): Holder {
    if (!this.holder) throw new Error('the view is not shown')
    return this.holder
  }

  /** The person sees the words, and says whether they are sent. */
  #ask(text: string): Promise<boolean> {
    return new Promise((resolve) => {
      const decide = async (send: boolean) => {
        if (send) await this.#held().send(text)
        this.message = undefined
        resolve(send)
      }
      this.message = { text, decide }
    })
  }

  #giveUp(problem: string): void {
    if (this.over) return
    this.problem = problem
    void this.#host.close(problem)
    this.#end()
  }

  #end(): void {
    this.#ended.abort()
    this.message = undefined
    this.link = undefined
    this.element.remove()
  }
}
