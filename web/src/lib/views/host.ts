// The workbench's side of the talk with the page of a component (MCP Apps, 2026-01-26): JSON-RPC, a message at a time. Nothing that a page says is
// believed to have a shape, and a page that says too much or nothing at all is given up. Not here: the frame, and what the answers do.

export const PROTOCOL = '2026-01-26'

/** What the page is told of its component. */
export interface ViewComponent {
  component_id: string
  name: string
  surface: string
  status: 'loading' | 'ready' | 'error'
  error?: string | undefined
  props: Record<string, unknown>
  /** Whether somebody waits for its answer. */
  waiting: boolean
  /** What was answered, when nobody waits any more. */
  answer?: unknown
}

export type DisplayMode = 'inline' | 'fullscreen'

/** How the page around it looks. */
export interface ViewSurroundings {
  theme: 'light' | 'dark'
  /** Names and values of the style variables of the standard. */
  variables: Record<string, string>
  width: number
  maxHeight: number
  /** It has just so much room, however tall it wants to be. */
  height?: number | undefined
  displayMode: DisplayMode
  locale: string
  timeZone: string
}

/** What a page may ask for. What is refused is thrown, with a text for the page. */
export interface ViewActions {
  callback(action: string, payload: unknown): Promise<{ seq: number }>
  resolve(value: unknown): Promise<void>
  getState(): Promise<unknown>
  patchState(patch: unknown): Promise<unknown>
  /** Resolves when the person has decided: whether the text was sent. */
  message(text: string): Promise<boolean>
  /** What the agent is told with the next message. */
  context(content: unknown): Promise<void>
  /** Shows the address; false if it is none that is opened. */
  openLink(url: string): boolean
  /** What it is shown as now. */
  displayMode(wanted: DisplayMode): DisplayMode
}

export interface ViewHostOptions {
  version: string
  component: ViewComponent
  surroundings: ViewSurroundings
  /** The names of its callbacks. */
  callbacks: readonly string[]
  /** It may read and change the shared state. */
  mayUseState: boolean
  actions: ViewActions
  /** Sends to the page. */
  post: (message: unknown) => void
  /** The page has begun. */
  onReady?: () => void
  /** The page wants to be so large. */
  onSize: (size: { width?: number; height?: number }) => void
  /** The page says that it is done. */
  onTeardown: () => void
  /** It is given up, and why. */
  onProblem: (problem: string) => void
}

type Fields = Record<string, unknown>

/** More messages than this in a second are no talk. */
const MESSAGES_A_SECOND = 200
/** A message with more characters than this is not read. */
const MESSAGE_LENGTH = 256 * 1024
/** Requests that are under way at once. */
const MAX_REQUESTS = 32
/** Acts that a page may tell at once, and how soon there may be one more: each is a fact, and may wake an agent. */
const MAX_ACTS = 20
const ACT_MS = 500
/** A page begins to talk by then, and answers a ping by then. */
const START_MS = 15_000
const PING_MS = 10_000
const GOODBYE_MS = 1_000

const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const REFUSED = -32000

class Refusal extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export class ViewHost {
  readonly #options: ViewHostOptions
  #component: ViewComponent
  #surroundings: ViewSurroundings
  #phase: 'new' | 'greeted' | 'ready' | 'over' = 'new'
  #requests = 0
  #counted = { since: 0, messages: 0 }
  #acts = { left: MAX_ACTS, since: 0 }
  #watchdog: ReturnType<typeof setTimeout> | undefined
  #nextId = 0
  readonly #waiting = new Map<unknown, () => void>()
  #isMessageWaiting = false

  constructor(options: ViewHostOptions) {
    this.#options = options
    this.#component = options.component
    this.#surroundings = options.surroundings
    this.#watch(START_MS, 'It does not say anything.')
  }

  /** Something came from the page's window, and from nobody else. */
  take(message: unknown): void {
    if (this.#phase === 'over') return
    if (!this.#isBearable(message)) return this.#giveUp('It says more than can be read.')
    if (!isFields(message) || message['jsonrpc'] !== '2.0') return
    const { id, method } = message
    if (typeof method !== 'string') return this.#settle(id)
    const params = isFields(message['params']) ? message['params'] : {}
    if (id === undefined) this.#hear(method, params)
    else void this.#answer(id, method, params)
  }

  /** The component has changed. */
  update(component: ViewComponent): void {
    const before = this.#component
    this.#component = component
    if (this.#phase !== 'ready') return
    if (JSON.stringify(before) !== JSON.stringify(component))
      this.#tell('host-context-changed', { turnloom: component })
    if (before.status !== component.status) this.#tellOutcome()
  }

  /** What is around it has changed. */
  surround(surroundings: ViewSurroundings): void {
    const before = this.#surroundings
    this.#surroundings = surroundings
    if (this.#phase !== 'ready') return
    const [then, now] = [contextOf(before), contextOf(surroundings)]
    const changed = Object.entries(now).filter(([name, value]) => JSON.stringify(then[name]) !== JSON.stringify(value))
    if (changed.length > 0) this.#tell('host-context-changed', Object.fromEntries(changed))
  }

  /** Resolves when the page has said goodbye, or has had its time. */
  async close(reason: string): Promise<void> {
    const isTalking = this.#phase === 'ready'
    if (isTalking) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, GOODBYE_MS)))
      await Promise.race([this.#ask('ui/resource-teardown', { reason }), late])
      clearTimeout(timer)
    }
    this.#end()
  }

  #isBearable(message: unknown): boolean {
    const now = Date.now()
    if (now - this.#counted.since > 1_000) this.#counted = { since: now, messages: 0 }
    this.#counted.messages += 1
    return this.#counted.messages <= MESSAGES_A_SECOND && isWithin(message, MESSAGE_LENGTH)
  }

  /** Few acts at once are fine, and then a slow trickle. */
  #mayAct(): void {
    const acts = this.#acts
    const now = Date.now()
    const more = acts.left === MAX_ACTS ? 0 : Math.floor((now - acts.since) / ACT_MS)
    if (acts.left === MAX_ACTS) acts.since = now
    else if (more > 0) [acts.left, acts.since] = [Math.min(MAX_ACTS, acts.left + more), acts.since + more * ACT_MS]
    if (acts.left === 0) throw new Refusal(REFUSED, 'too much at once, try again in a moment')
    acts.left -= 1
  }

  #hear(method: string, params: Fields): void {
    if (method === 'ui/notifications/initialized' && this.#phase === 'greeted') {
      this.#phase = 'ready'
      this.#options.onReady?.()
      this.#tell('tool-input', { arguments: this.#component.props })
      this.#tellOutcome()
      this.#ping()
    } else if (method === 'ui/notifications/size-changed') {
      const size = (name: string) => {
        const value = params[name]
        return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? { [name]: value } : {}
      }
      const { maxHeight } = this.#surroundings
      const { height, ...rest }: { width?: number; height?: number } = { ...size('width'), ...size('height') }
      this.#options.onSize({ ...rest, ...(height !== undefined && { height: Math.min(height, maxHeight) }) })
    } else if (method === 'ui/notifications/request-teardown') this.#options.onTeardown()
  }

  async #answer(id: unknown, method: string, params: Fields): Promise<void> {
    if (typeof id !== 'string' && typeof id !== 'number') return
    if (this.#requests >= MAX_REQUESTS) {
      return this.#post({ id, error: { code: REFUSED, message: 'too many requests are under way' } })
    }
    this.#requests += 1
    try {
      const result = await this.#result(method, params)
      this.#post({ id, result })
    } catch (error) {
      const { code, message } = error instanceof Refusal ? error : { code: REFUSED, message: (error as Error).message }
      this.#post({ id, error: { code, message } })
    } finally {
      this.#requests -= 1
    }
  }

  async #result(method: string, params: Fields): Promise<Fields> {
    const { actions } = this.#options
    if (method === 'ui/initialize') return this.#greet()
    if (method === 'ping') return {}
    if (this.#phase !== 'ready') throw new Refusal(REFUSED, 'the view has not begun')
    switch (method) {
      case 'tools/call':
        return this.#call(params['name'], isFields(params['arguments']) ? params['arguments'] : {})
      case 'ui/message':
        return this.#message(params)
      case 'ui/update-model-context':
        this.#mayAct()
        await actions.context({ content: params['content'], structuredContent: params['structuredContent'] })
        return {}
      case 'ui/open-link':
        return typeof params['url'] === 'string' && actions.openLink(params['url']) ? {} : { isError: true }
      case 'ui/request-display-mode':
        return { mode: actions.displayMode(params['mode'] === 'fullscreen' ? 'fullscreen' : 'inline') }
      default:
        throw new Refusal(METHOD_NOT_FOUND, `${method} is not for views`)
    }
  }

  #greet(): Fields {
    if (this.#phase === 'new') this.#phase = 'greeted'
    return {
      protocolVersion: PROTOCOL,
      hostInfo: { name: 'turnloom', version: this.#options.version },
      hostCapabilities: {
        openLinks: {},
        serverTools: {},
        logging: {},
        message: { text: {} },
        updateModelContext: { text: {}, structuredContent: {} },
      },
      hostContext: { ...contextOf(this.#surroundings), platform: 'web', turnloom: this.#component },
    }
  }

  async #call(name: unknown, args: Fields): Promise<Fields> {
    const { actions, callbacks, mayUseState } = this.#options
    const result = (structuredContent: Fields): Fields => ({ content: [], structuredContent })
    if (typeof name === 'string' && callbacks.includes(name)) {
      this.#mayAct()
      const { seq } = await actions.callback(name, args)
      return result({ accepted: true, seq })
    }
    if (name === 'resolve' && this.#component.waiting) {
      await actions.resolve(args['value'])
      return result({ accepted: true })
    }
    if (name === 'get_state' && mayUseState) return result({ state: await actions.getState() })
    if (name === 'patch_state' && mayUseState) this.#mayAct()
    if (name === 'patch_state' && mayUseState) return result({ state: await actions.patchState(args['patch']) })
    throw new Refusal(INVALID_PARAMS, `there is no tool ${String(name)}`)
  }

  async #message(params: Fields): Promise<Fields> {
    const parts = Array.isArray(params['content']) ? (params['content'] as unknown[]) : []
    const text = parts
      .flatMap((part) =>
        isFields(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? [part['text']] : [],
      )
      .join('\n\n')
    if (text === '' || this.#isMessageWaiting) return { isError: true }
    this.#isMessageWaiting = true
    try {
      return (await this.#options.actions.message(text)) ? {} : { isError: true }
    } finally {
      this.#isMessageWaiting = false
    }
  }

  /** What the standard calls the result of the tool: the props, when they are all there. */
  #tellOutcome(): void {
    const { status, props, error } = this.#component
    if (status === 'error') this.#tell('tool-cancelled', { reason: error ?? 'it failed' })
    else if (status === 'ready') this.#tell('tool-result', { content: [], structuredContent: props })
  }

  /** A page that loops answers nothing; the page around it lives on, and says so. */
  #ping(): void {
    if (this.#phase !== 'ready') return
    this.#watch(PING_MS, 'It does not answer any more.')
    void this.#ask('ping', {}).then(() => {
      clearTimeout(this.#watchdog)
      if (this.#phase === 'ready') this.#watchdog = setTimeout(() => this.#ping(), PING_MS)
    })
  }

  #watch(delay: number, problem: string): void {
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => this.#giveUp(problem), delay)
  }

  /** Resolves with whatever the page answers, an error too. */
  #ask(method: string, params: Fields): Promise<void> {
    const id = `host-${++this.#nextId}`
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve))
    this.#post({ id, method, params })
    return answered
  }

  #settle(id: unknown): void {
    this.#waiting.get(id)?.()
    this.#waiting.delete(id)
  }

  #tell(name: string, params: Fields): void {
    this.#post({ method: `ui/notifications/${name}`, params })
  }

  #post(message: Fields): void {
    if (this.#phase !== 'over') this.#options.post({ jsonrpc: '2.0', ...message })
  }

  #giveUp(problem: string): void {
    this.#end()
    this.#options.onProblem(problem)
  }

  #end(): void {
    clearTimeout(this.#watchdog)
    this.#phase = 'over'
    for (const resolve of this.#waiting.values()) resolve()
    this.#waiting.clear()
  }
}

function contextOf(surroundings: ViewSurroundings): Fields {
  const { theme, variables, width, height, maxHeight, displayMode, locale, timeZone } = surroundings
  return {
    theme,
    styles: { variables },
    displayMode,
    availableDisplayModes: ['inline', 'fullscreen'],
    containerDimensions: height === undefined ? { width, maxHeight } : { width, height },
    locale,
    timeZone,
  }
}

/** Whether it is JSON of about this length. Counted by hand and no further than that: to write down something huge would hold the page up. */
function isWithin(message: unknown, room: number): boolean {
  const left: unknown[] = [message]
  while (left.length > 0) {
    const value = left.pop()
    room -= typeof value === 'string' ? value.length + 2 : 8
    if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return false
    if (room < 0) return false
    if (Array.isArray(value)) {
      if (value.length > room) return false
      for (const item of value as unknown[]) left.push(item)
    } else if (isFields(value)) {
      // A list of bytes, a map or a picture is no JSON.
      if (Object.prototype.toString.call(value) !== '[object Object]') return false
      for (const name in value) {
        room -= name.length + 3
        if (room < 0) return false
        if (Object.hasOwn(value, name)) left.push(value[name])
      }
    }
  }
  return true
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
