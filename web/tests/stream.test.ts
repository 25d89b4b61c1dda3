import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect, delayOf, type Connection, type Wiring } from '../src/lib/stream'

describe('connect', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const body = (text: string) => new Response(text)

  function wired(opens: (() => Promise<Response>)[]) {
    const states: Connection[] = []
    const events: string[] = []
    let opened = 0
    let wake: () => void = () => undefined
    const wiring: Wiring = {
      open: () => (opens[opened++] ?? (() => new Promise<Response>(() => undefined)))(),
      onEvent: (event) => void events.push(event.data),
      onState: (state) => void states.push(state),
      onWake: (callback) => {
        wake = callback
        return () => (wake = () => undefined)
      },
      now: () => 0,
    }
    const leave = new AbortController()
    void connect(wiring, leave.signal)
    return { states, events, leave, opened: () => opened, wake: () => wake() }
  }

  const away = () => Promise.reject(new TypeError('network'))

  it('backs off from one second to thirty', () => {
    expect([1, 2, 3, 4, 5, 6, 9].map(delayOf)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  it('tries again after the delay, and starts over once it was live', async () => {
    const run = wired([away, away, () => Promise.resolve(body('data: x\n\n'))])
    await vi.advanceTimersByTimeAsync(0)
    expect(run.states.at(-1)).toEqual({ state: 'waiting', until: 1_000, attempt: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(run.states.at(-1)).toEqual({ state: 'waiting', until: 2_000, attempt: 2 })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(run.events).toEqual(['x'])
    expect(run.states.at(-1)).toEqual({ state: 'waiting', until: 1_000, attempt: 1 })
  })

  it('comes back at once when it is woken', async () => {
    const run = wired([away, away])
    await vi.advanceTimersByTimeAsync(0)
    run.wake()
    await vi.advanceTimersByTimeAsync(0)
    expect(run.opened()).toBe(2)
  })

  it('gives up when trying again would not help', async () => {
    const run = wired([
      () => Promise.resolve(new Response('{"code":"session_not_found","detail":"no"}', { status: 404 })),
    ])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(run.states.at(-1)).toEqual({ state: 'refused', status: 404, code: 'session_not_found', detail: 'no' })
    expect(run.opened()).toBe(1)
  })

  it('goes on after an error of the server', async () => {
    const run = wired([() => Promise.resolve(new Response('', { status: 503 }))])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(run.opened()).toBe(2)
  })

  it('takes silence for death', async () => {
    const silent = new Response(new ReadableStream())
    const run = wired([() => Promise.resolve(silent)])
    await vi.advanceTimersByTimeAsync(37_000)
    expect(run.states.at(-1)).toEqual({ state: 'live' })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(run.states.map(({ state }) => state)).toEqual(['connecting', 'live', 'waiting', 'connecting'])
  })

  it('says nothing more once it was left', async () => {
    const run = wired([away, away])
    await vi.advanceTimersByTimeAsync(0)
    const known = run.states.length
    run.leave.abort()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([run.states.length, run.opened()]).toEqual([known, 1])
  })
})
