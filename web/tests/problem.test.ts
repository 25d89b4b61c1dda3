import { Turnloom, TurnloomError } from 'turnloom'
import { describe, expect, it } from 'vitest'
import { problemOf } from '../src/lib/problem'

describe('what a person is told', () => {
  it('is that the daemon does not answer, only when it does not', async () => {
    const api = new Turnloom({ url: '', fetch: () => Promise.reject(new TypeError('Failed to fetch')) })
    const away = await api.listAgents().catch((error: unknown) => error)
    expect(problemOf(away)).toEqual({ detail: 'The daemon does not answer.', fix: 'turnloom up' })
    const refused = new TurnloomError(409, { code: 'busy', detail: 'a turn runs', fix: 'Wait for it.' })
    expect(problemOf(refused)).toEqual({ detail: 'a turn runs', fix: 'Wait for it.' })
    expect(problemOf(new TypeError('x is not a function'))).toEqual({ detail: 'x is not a function' })
  })
})
