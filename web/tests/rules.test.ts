import { describe, expect, it, vi } from 'vitest'
import type { Policy, PolicyRule, RulesTest, StoredRule } from 'turnloom'
import { parse, rulesHash, sessionHash } from '../src/lib/address'
import { exactParts, originOf } from '../src/lib/decision'
import { expiryWords } from '../src/lib/expiry'
import { isElsewhere, modesOf, placeOf, refusalWords, ruleHas } from '../src/lib/policy'
import { holdsCall } from '../src/lib/tools'

vi.mock('../src/lib/api', () => ({ api: {} }))
const { changedCalls, HELD, NOTHING, sinceOf, together } = await import('../src/lib/trying.svelte')

describe('an address', () => {
  it('is read as it is written', () => {
    expect(parse(sessionHash('a/b?c', 'call 1'))).toEqual({ name: 'session', id: 'a/b?c', call: 'call 1' })
    expect(parse(sessionHash('s'))).toEqual({ name: 'session', id: 's', call: undefined })
    const rule = 'implement/git & more'
    expect(parse(rulesHash({ session: 's#1', rule }))).toEqual({ name: 'rules', session: 's#1', rule })
    expect(parse(rulesHash())).toEqual({ name: 'rules', session: undefined, rule: undefined })
    expect(parse('#/rules/try')).toEqual({ name: 'try' })
    expect(parse('#/s/%E0%A4%A')).toMatchObject({ name: 'session', id: '%E0%A4%A' })
    expect(parse('#/nowhere')).toEqual({ name: 'home' })
  })
})

describe('the rule that decided', () => {
  it('is said with where it comes from', () => {
    expect(originOf({ rule: 'implement/git', scope: 'mode' })).toEqual({ name: 'git', of: 'of implement mode' })
    expect(originOf({ rule: 'bypass/default', scope: 'mode' })).toEqual({
      of: 'what bypass mode does with everything else',
    })
    expect(originOf({ rule: 'absolute/power', scope: 'absolute' }).of).toBe('which holds in every mode')
    expect(originOf({ rule: 'project/no-deploy', scope: 'project' })).toEqual({
      name: 'no-deploy',
      of: 'of this project',
    })
    expect(originOf({ rule: 'user/deploy', scope: 'user' })).toEqual({ name: 'deploy', of: 'of your rules' })
    // A rule of the user's for one project is still one of the user's.
    expect(originOf({ rule: 'user/deploy', scope: 'project' }).of).toBe('of your rules')
    expect(originOf({ rule: 'always/1a2b', scope: 'project' })).toEqual({
      of: 'what was always allowed in this project',
    })
    // A mode may be called like a place.
    expect(originOf({ rule: 'project/x', scope: 'mode' })).toEqual({ name: 'x', of: 'of project mode' })
  })
  it('keeps exact words apart', () => {
    expect(exactParts('runs `git push *` in `/app`')).toEqual([
      { text: 'runs ', exact: false },
      { text: 'git push *', exact: true },
      { text: ' in ', exact: false },
      { text: '/app', exact: true },
    ])
  })
})

const rule = (fields: Partial<PolicyRule>): PolicyRule => ({
  name: 'user/x',
  layer: 'user',
  scope: 'user',
  effect: 'ask',
  says: 'runs `make deploy`',
  rule: 'effect = "ask"',
  ...fields,
})

describe('a list of rules', () => {
  it('says where each stands', () => {
    expect(placeOf({ file: '/data/policy.toml', line: 12 })).toBe('policy.toml:12')
    expect(placeOf({ file: '/data/modes/careful.toml', line: 3 })).toBe('modes/careful.toml:3')
    expect(placeOf({})).toBe('ships with Turnloom')
  })
  it('is searched by all words', () => {
    expect(ruleHas(rule({}), 'make ASK')).toBe(true)
    expect(ruleHas(rule({}), 'make deny')).toBe(false)
  })
  it('has the mode that counts first', () => {
    const modes = ['ask', 'implement'].map((name) => ({ name, default: 'ask' as const, rules: [] }))
    expect(modesOf({ modes, mode: 'implement' }).counts?.name).toBe('implement')
    expect(modesOf({ modes, mode: 'acceptEdits' }).counts).toBeUndefined()
  })
  it('knows what holds elsewhere', () => {
    const policy = { rules: [rule({ name: 'always/1', elsewhere: true }), rule({ name: 'always/2' })] } as Policy
    expect(['1', '2'].map((id) => isElsewhere({ id } as StoredRule, policy))).toEqual([true, false])
  })
  it('says why a mode cannot be had without the name of the field', () => {
    expect(refusalWords('`mode`: plan has rules')).toBe('Plan has rules')
  })
})

const part = (fields: Partial<RulesTest>): RulesTest => ({
  sessions: 1,
  calls: 2,
  not_judged: 0,
  counts: [],
  changed: [],
  ...fields,
})

describe('what a trial finds', () => {
  it('is put together from its parts', () => {
    const counts = [{ old: 'allow' as const, new: 'deny' as const, calls: 2 }]
    const twice = together(together(NOTHING, part({ counts })), part({ counts, not_judged: 1 }))
    expect(twice).toMatchObject({ sessions: 2, calls: 4, not_judged: 1 })
    expect(twice.counts).toEqual([{ old: 'allow', new: 'deny', calls: 4 }])
    expect(changedCalls(twice.counts)).toBe(4)
    expect(NOTHING.counts).toEqual([])
  })
  it('holds only so many calls', () => {
    const changed = Array.from({ length: HELD }, () => ({}) as RulesTest['changed'][number])
    expect(together(together(NOTHING, part({ changed })), part({ changed })).changed).toHaveLength(HELD)
  })
  it('counts from a time, or from the beginning', () => {
    expect(sinceOf(1, Date.parse('2026-01-02T00:00:00Z'))).toBe('2026-01-01T00:00:00.000Z')
    expect(sinceOf(undefined, 0)).toBeUndefined()
  })
})

describe('an ask that ends by itself', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  it('says how long it waits and what comes then', () => {
    const limit = { expiry: { at: '2026-01-01T00:01:30Z', allowed: false } }
    expect(expiryWords(limit, now)).toBe('1\u202fmin 30\u202fs left, then it is rejected')
    expect(expiryWords(limit, now + 100_000)).toBe('Time is up, then it is rejected')
    expect(expiryWords({ expiry: { ...limit.expiry, allowed: true } }, now)).toContain('then it is allowed')
    expect(expiryWords({}, now)).toBe('')
  })
})

describe('a call', () => {
  it('is found in sub-agents too', () => {
    const tool = { kind: 'tool', tool_use_id: 't' }
    const blocks = [{ kind: 'subagent', blocks: [{ kind: 'subagent', blocks: [tool] }] }]
    expect(holdsCall(blocks as never, 't')).toBe(true)
    expect(holdsCall(blocks as never, 'u')).toBe(false)
  })
})
