// The talk with the page of a component: the official library of such pages drives it unmodified, and odd pages are contained.

import { App } from '@modelcontextprotocol/ext-apps'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { PROTOCOL, ViewHost, type ViewActions, type ViewComponent, type ViewHostOptions } from '../src/lib/views/host'

const COMPONENT: ViewComponent = {
  component_id: 'g1',
  name: 'gauge',
  surface: 'panel',
  status: 'loading',
  props: { value: 3 },
  waiting: false,
}
const SURROUNDINGS = {
  theme: 'dark' as const,
  variables: { '--color-background-primary': '#111' },
  width: 640,
  maxHeight: 800,
  displayMode: 'inline' as const,
  locale: 'en',
  timeZone: 'Europe/Brussels',
}

function actions(): ViewActions {
  return {
    callback: vi.fn(async () => ({ seq: 7 })),
    resolve: vi.fn(async () => undefined),
    getState: vi.fn(async () => ({ rows: 1 })),
    patchState: vi.fn(async () => ({ rows: 2 })),
    message: vi.fn(async () => true),
    context: vi.fn(async () => undefined),
    openLink: vi.fn((url: string) => url.startsWith('https:')),
    displayMode: vi.fn((wanted) => wanted),
  }
}

/** A host whose page is this test. */
function stage(more: Partial<ViewHostOptions> = {}) {
  const posted: Record<string, unknown>[] = []
  const options = {
    version: '1',
    component: COMPONENT,
    surroundings: SURROUNDINGS,
    callbacks: ['turn'],
    mayUseState: false,
    actions: actions(),
    post: (message: unknown) => void posted.push(message as Record<string, unknown>),
    onSize: vi.fn(),
    onTeardown: vi.fn(),
    onProblem: vi.fn(),
    ...more,
  }
  const host = new ViewHost(options)
  let id = 0
  const ask = async (method: string, params: unknown = {}) => {
    const mine = ++id
    host.take({ jsonrpc: '2.0', id: mine, method, params })
    return vi.waitFor(() => {
      const answer = posted.find((message) => message['id'] === mine)
      if (!answer) throw new Error(`no answer to ${method}`)
      return answer as { result?: Record<string, unknown>; error?: { code: number; message: string } }
    })
  }
  const say = (method: string, params: unknown = {}) => host.take({ jsonrpc: '2.0', method, params })
  const begin = async () => {
    await ask('ui/initialize', { protocolVersion: PROTOCOL })
    say('ui/notifications/initialized')
  }
  const told = (name: string) =>
    posted.filter(({ method }) => method === `ui/notifications/${name}`).map(({ params }) => params)
  return { host, options, posted, ask, say, begin, told }
}

/** The official library at the other end of a line. */
async function official(more: Partial<ViewHostOptions> = {}, prepare: (app: App) => void = () => undefined) {
  const app = new App({ name: 'gauge', version: '1' }, {}, { autoResize: false })
  prepare(app)
  const transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message: unknown) => host.take(structuredClone(message)),
    onmessage: undefined as ((message: never) => void) | undefined,
  }
  const post = (message: unknown) => queueMicrotask(() => transport.onmessage?.(structuredClone(message) as never))
  const { host, options } = stage({ post, ...more })
  await app.connect(transport as unknown as Parameters<App['connect']>[0])
  return { app, host, options }
}

let hosts: ViewHost[] = []
beforeEach(() => (hosts = []))
afterEach(async () => void (await Promise.all(hosts.map((host) => host.close('over')))))

describe('the official library', () => {
  test('begins, hears of its component, and follows it', async () => {
    const heard: unknown[] = []
    const { app, host } = await official({}, (app) => {
      app.ontoolinput = ({ arguments: props }) => heard.push(['input', props])
      app.ontoolresult = ({ structuredContent }) => heard.push(['result', structuredContent])
      app.ontoolcancelled = ({ reason }) => heard.push(['cancelled', reason])
      app.onhostcontextchanged = (context) => heard.push(['context', context])
    })
    hosts.push(host)
    expect(app.getHostVersion()).toMatchObject({ name: 'turnloom', version: '1' })
    expect(app.getHostContext()).toMatchObject({ theme: 'dark', displayMode: 'inline', turnloom: COMPONENT })
    await vi.waitFor(() => expect(heard).toEqual([['input', { value: 3 }]]))
    const ready: ViewComponent = { ...COMPONENT, status: 'ready', props: { value: 4 } }
    host.update(ready)
    host.surround({ ...SURROUNDINGS, theme: 'light' })
    host.update({ ...ready, status: 'error', error: 'too hot' })
    await vi.waitFor(() => expect(heard.length).toBe(6))
    expect(heard.slice(1)).toEqual([
      ['context', expect.objectContaining({ turnloom: ready })],
      ['result', { value: 4 }],
      ['context', expect.objectContaining({ theme: 'light' })],
      ['context', expect.objectContaining({ turnloom: { ...ready, status: 'error', error: 'too hot' } })],
      ['cancelled', 'too hot'],
    ])
  })

  test('asks for what the table has, and is refused the rest', async () => {
    const { app, host, options } = await official({ mayUseState: true, component: { ...COMPONENT, waiting: true } })
    hosts.push(host)
    const { actions } = options
    expect((await app.callServerTool({ name: 'turn', arguments: { by: 1 } })).structuredContent).toEqual({
      accepted: true,
      seq: 7,
    })
    expect(actions.callback).toHaveBeenCalledWith('turn', { by: 1 })
    await app.callServerTool({ name: 'resolve', arguments: { value: { ok: 1 } } })
    expect(actions.resolve).toHaveBeenCalledWith({ ok: 1 })
    expect((await app.callServerTool({ name: 'get_state' })).structuredContent).toEqual({ state: { rows: 1 } })
    await app.callServerTool({ name: 'patch_state', arguments: { patch: [] } })
    expect(actions.patchState).toHaveBeenCalledWith([])
    await expect(app.callServerTool({ name: 'rm' })).rejects.toThrow('there is no tool rm')
    await app.sendMessage({ role: 'user', content: [{ type: 'text', text: 'Hello' }] })
    expect(actions.message).toHaveBeenCalledWith('Hello')
    await app.updateModelContext({ structuredContent: { value: 4 } })
    expect(actions.context).toHaveBeenCalled()
    expect((await app.openLink({ url: 'https://a.example' })).isError).toBeFalsy()
    expect((await app.openLink({ url: 'javascript:alert(1)' })).isError).toBe(true)
    expect(await app.requestDisplayMode({ mode: 'fullscreen' })).toMatchObject({ mode: 'fullscreen' })
    await app.sendSizeChanged({ width: 300, height: 5_000 })
    expect(options.onSize).toHaveBeenCalledWith({ width: 300, height: 800 })
    await app.requestTeardown()
    expect(options.onTeardown).toHaveBeenCalled()
  })

  test('says goodbye', async () => {
    const goodbye = vi.fn(() => ({}))
    const { host } = await official({}, (app) => (app.onteardown = goodbye))
    await host.close('removed')
    expect(goodbye).toHaveBeenCalled()
  })
})

test('nothing is said before the page has begun, and then in order', async () => {
  const { host, posted, begin, told } = stage({ component: { ...COMPONENT, status: 'ready' } })
  hosts.push(host)
  host.update({ ...COMPONENT, status: 'ready', props: { value: 9 } })
  expect(posted).toEqual([])
  await begin()
  expect(told('tool-input')).toEqual([{ arguments: { value: 9 } }])
  expect(told('tool-result')).toEqual([{ content: [], structuredContent: { value: 9 } }])
  host.update({ ...COMPONENT, status: 'ready', props: { value: 9 } })
  expect(told('host-context-changed')).toEqual([])
})

test('what a page may not ask for is an error', async () => {
  const { host, ask, begin, options } = stage()
  hosts.push(host)
  expect((await ask('tools/call', { name: 'turn' })).error?.message).toBe('the view has not begun')
  await begin()
  for (const method of ['resources/read', 'sampling/createMessage', 'constructor', '__proto__'])
    expect((await ask(method)).error?.code).toBe(-32601)
  for (const name of ['get_state', 'patch_state', 'resolve', 'toString', 7, undefined])
    expect((await ask('tools/call', { name })).error?.code).toBe(-32602)
  vi.mocked(options.actions.callback).mockRejectedValueOnce(new Error('the session is archived'))
  expect((await ask('tools/call', { name: 'turn' })).error?.message).toBe('the session is archived')
})

test('one message waits for the person at a time', async () => {
  const { host, ask, begin, options } = stage()
  hosts.push(host)
  await begin()
  let decide: (isSent: boolean) => void = () => undefined
  vi.mocked(options.actions.message).mockImplementationOnce(() => new Promise((resolve) => (decide = resolve)))
  const content = [{ type: 'text', text: 'Hello' }]
  const first = ask('ui/message', { content })
  expect((await ask('ui/message', { content })).result).toEqual({ isError: true })
  decide(false)
  expect((await first).result).toEqual({ isError: true })
  expect((await ask('ui/message', { content: 'nothing' })).result).toEqual({ isError: true })
})

test('odd messages harm nobody', async () => {
  const { host, options, begin, say, ask } = stage()
  hosts.push(host)
  for (const odd of [
    null,
    7,
    'text',
    [],
    {},
    { jsonrpc: '1.0', method: 'ping', id: 1 },
    { jsonrpc: '2.0', id: {}, method: 'ping' },
    { jsonrpc: '2.0', id: 'x' },
  ])
    host.take(odd)
  await begin()
  say('ui/notifications/size-changed', { width: 'wide', height: -1 })
  say('ui/notifications/size-changed', { height: Infinity })
  say('ui/notifications/initialized')
  say('something/new')
  expect(vi.mocked(options.onSize).mock.calls).toEqual([[{}], [{}]])
  expect((await ask('ping')).result).toEqual({})
  expect(options.onProblem).not.toHaveBeenCalled()
})

describe('a page that is given up', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('floods', () => {
    const { host, say, options } = stage()
    for (let n = 0; n < 201; n += 1) say('notifications/message', { n })
    expect(options.onProblem).toHaveBeenCalledExactlyOnceWith('It says more than can be read.')
    host.take({ jsonrpc: '2.0', id: 1, method: 'ui/initialize' })
  })

  test('says too much at once, or what is no JSON', () => {
    for (const params of ['x'.repeat(300_000), 1n]) {
      const { say, options } = stage()
      say('notifications/message', params)
      expect(options.onProblem).toHaveBeenCalledOnce()
    }
  })

  test('never begins', () => {
    const { options } = stage()
    vi.advanceTimersByTime(15_000)
    expect(options.onProblem).toHaveBeenCalledWith('It does not say anything.')
  })

  test('hangs later', async () => {
    const { host, options, posted, say } = stage()
    host.take({ jsonrpc: '2.0', id: 1, method: 'ui/initialize' })
    await vi.advanceTimersByTimeAsync(1)
    say('ui/notifications/initialized')
    const pings = () => posted.filter(({ method }) => method === 'ping')
    expect(pings().length).toBe(1)
    host.take({ jsonrpc: '2.0', id: pings()[0]?.['id'], result: {} })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(pings().length).toBe(2)
    expect(options.onProblem).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(options.onProblem).toHaveBeenCalledWith('It does not answer any more.')
  })
})
