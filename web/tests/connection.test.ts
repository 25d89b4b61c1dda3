import { Turnloom } from 'turnloom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect, type Connection } from '../src/lib/connection'

describe('connect', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 })
    // The longest that a delay can be.
    vi.spyOn(Math, 'random').mockReturnValue(1)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  type Answer = () => Promise<Response>
  const headers = { 'content-type': 'text/event-stream' }
  const asks = (name: string) => `event: asks\ndata: {"asks": ["${name}"]}\n\n`
  const says = (text: string) => () => Promise.resolve(new Response(text, { headers }))
  const away = () => Promise.reject(new TypeError('nobody is there'))
  const refuses = (status: number, code: string) => () =>
    Promise.resolve(Response.json({ code, detail: 'no' }, { status }))
  const silent = () => Promise.resolve(new Response(new ReadableStream(), { headers }))
  const never = () => new Promise<Response>(() => undefined)

  function run(answers: Answer[]) {
    const states: Connection[] = []
    const events: unknown[] = []
    let opened = 0
    const api = new Turnloom({ url: '', fetch: () => (answers[opened++] ?? never)() })
    const leave = new AbortController()
    const follow: Parameters<typeof connect>[0] = async (options) => {
      for await (const asks of api.streamAsks(options)) events.push(...asks)
    }
    void connect(follow, (state) => void states.push(state), leave.signal)
    return { states, events, leave, opened: () => opened }
  }

  it('backs off from one second to thirty, and starts over when something came', async () => {
    const { states, events } = run([...Array.from({ length: 7 }, () => away), says(asks('x'))])
    await vi.advanceTimersByTimeAsync(120_000)
    const untils = states.flatMap((state) => (state.state === 'waiting' ? [state.until] : []))
    const delays = untils.map((until, at) => until - (untils[at - 1] ?? 0))
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 1_000])
    expect(events).toEqual(['x'])
  })

  it('comes back at once when somebody looks at the page again', async () => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    vi.stubGlobal('document', page)
    vi.stubGlobal('addEventListener', vi.fn())
    vi.stubGlobal('removeEventListener', vi.fn())
    const { opened } = run([away])
    await vi.advanceTimersByTimeAsync(0)
    page.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(0)
    expect(opened()).toBe(2)
  })

  it('gives up when trying again would not help', async () => {
    const { states, opened } = run([refuses(404, 'session_not_found')])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(states.at(-1)).toEqual({ state: 'refused', code: 'session_not_found', detail: 'no' })
    expect(opened()).toBe(1)
  })

  it('goes on after an error of the server', async () => {
    const { opened } = run([refuses(503, 'overloaded')])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(opened()).toBe(2)
  })

  it('takes silence for death', async () => {
    const { states } = run([silent])
    await vi.advanceTimersByTimeAsync(37_000)
    expect(states.at(-1)).toEqual({ state: 'live' })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(states.map(({ state }) => state)).toEqual(['connecting', 'live', 'waiting', 'connecting'])
  })

  it('says nothing more once it was left', async () => {
    const { states, leave, opened } = run([away, away])
    await vi.advanceTimersByTimeAsync(0)
    const known = states.length
    leave.abort()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([states.length, opened()]).toEqual([known, 1])
  })
})
