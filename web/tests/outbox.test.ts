import { beforeEach, describe, expect, it, vi } from 'vitest'

const postMessage = vi.fn()
const putValue = vi.fn()
vi.mock('../src/lib/api', () => ({ api: { postMessage } }))
vi.mock('../src/lib/database', () => ({ putValue, removeValue: () => Promise.resolve() }))
vi.mock('../src/lib/timings.svelte', () => ({ timings: { mark: () => undefined } }))
const { outbox } = await import('../src/lib/outbox.svelte')

const never = new Promise<void>(() => undefined)
/** Whether it has happened once everything else has that can. */
const happened = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setTimeout(() => resolve(false)))])

describe('a message that is sent', () => {
  beforeEach(() => vi.resetAllMocks())

  it('is safe once the daemon has it, however long the browser takes', async () => {
    putValue.mockReturnValue(never)
    postMessage.mockResolvedValue({})
    expect(await happened(outbox.send('s', 'hello', [], 'queue').isKept)).toBe(true)
  })

  it('is safe once the browser has it, however long the daemon takes', async () => {
    putValue.mockResolvedValue(undefined)
    postMessage.mockReturnValue(never)
    expect(await happened(outbox.send('s', 'hello', [], 'queue').isKept)).toBe(true)
  })

  it('is not safe when the daemon did not take it and the browser has not stored it yet', async () => {
    let stored: (() => void) | undefined
    putValue.mockReturnValue(new Promise<void>((resolve) => (stored = resolve)))
    postMessage.mockRejectedValue(new Error('away'))
    const { isKept } = outbox.send('s', 'hello', [], 'queue')
    expect(await happened(isKept)).toBe(false)
    stored?.()
    expect(await happened(isKept)).toBe(true)
  })
})
