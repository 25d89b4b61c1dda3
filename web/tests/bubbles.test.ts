import { expect, test } from 'vitest'
import type { Task } from 'turnloom'
import { bubbleOf, ENTERING_MS, later, pressureOf, SETTLING_MS, type Bubble } from '../src/lib/bubbles'
import { capsulesOf } from '../src/lib/work/capsules'
import { kindWords } from '../src/lib/work/taskKinds'

const task = (given: Partial<Task> = {}): Task => ({
  runId: 'r',
  sessionId: 's',
  type: 'chat',
  status: 'running',
  origin: 'user',
  triggerType: 'chat',
  presence: 'foreground',
  metadata: {},
  lastActivityAt: '',
  needsInput: 0,
  queued: 0,
  subagents: 0,
  isZombie: false,
  ...given,
})

test('a bubble comes, is there, settles for a while and is gone', () => {
  let bubble: Bubble | undefined = bubbleOf(task(), undefined, 0)
  expect(bubble.phase).toBe('entering')
  expect(later(bubble, ENTERING_MS - 1)).toBe(bubble)
  bubble = later(bubble, ENTERING_MS)
  expect(bubble?.phase).toBe('live')
  expect(bubble?.until).toBeUndefined()
  bubble = bubbleOf(task({ activity: { state: 'tool', label: 'Running npm test', since: '' } }), bubble, 500)
  expect([bubble.phase, bubble.label]).toEqual(['live', 'Running npm test'])
  bubble = bubbleOf(task({ status: 'failed', error: 'no' }), bubble, 1_000)
  expect([bubble.phase, bubble.label, bubble.tone]).toEqual(['settling', 'Failed: no', 'critical'])
  expect(later(bubble, 1_000 + SETTLING_MS - 1)).toBe(bubble)
  expect(later(bubble, 1_000 + SETTLING_MS)).toBeUndefined()
  // The next turn does not wait for that.
  expect(bubbleOf(task({ runId: 'next' }), bubble, 1_100).phase).toBe('entering')
})

test('what needs somebody is said before what goes on', () => {
  const words = (given: Partial<Task>) => bubbleOf(task(given), undefined, 0).label
  const activity = { state: 'thinking', since: '' }
  expect(words({ activity })).toBe('Thinking')
  expect(words({ activity, subagents: 2 })).toBe('Thinking · 2 sub-agents')
  expect(words({ activity, needsInput: 1, waitsFor: 'plan' })).toBe('Plan ready')
  expect(words({ activity, needsInput: 2, waitsFor: 'permission' })).toBe('2 asks wait')
  expect(words({ activity, isZombie: true })).toBe('No sign of life')
  expect(words({ activity: { state: 'tool', label: 'x'.repeat(500), since: '' } }).length).toBeLessThan(70)
})

test('context presses from 80 % on', () => {
  const level = (used: number) => pressureOf({ used, window: 100 })?.level
  expect([79, 80, 94, 95, 99, 100, 140].map(level)).toEqual([
    undefined,
    'warning',
    'warning',
    'critical',
    'critical',
    'exceeded',
    'exceeded',
  ])
  expect(pressureOf(undefined)).toBeUndefined()
  expect(pressureOf({ used: 1, window: 0 })).toBeUndefined()
})

test('capsules count, what needs somebody first', () => {
  const running = [
    task({ needsInput: 1, waitsFor: 'question' }),
    task({ needsInput: 1, waitsFor: 'plan' }),
    task({ queued: 2, subagents: 3 }),
    task({ isZombie: true }),
  ]
  const shown = capsulesOf(running, [
    task({ status: 'failed' }),
    task({ status: 'cancelled' }),
    task({ status: 'succeeded' }),
  ])
  expect(shown.map(({ kind, count }) => `${count} ${kind}`)).toEqual([
    '1 needs',
    '1 plan',
    '1 silent',
    '1 failed',
    '1 running',
    '2 queued',
    '3 subagents',
    '1 cancelled',
  ])
  expect(capsulesOf([], [])).toEqual([])
})

test('what began a turn is said, unless a person did', () => {
  expect(kindWords(task())).toBe('')
  expect(kindWords(task({ origin: 'api' }))).toBe('by a program')
  expect(kindWords(task({ type: 'scheduled', origin: 'schedule' }))).toBe('scheduled')
  expect(
    kindWords(task({ type: 'channel', origin: 'webhook', metadata: { channel: 'issues', channelType: 'github' } })),
  ).toBe('issues')
})
