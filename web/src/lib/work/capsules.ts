// Everything that goes on, in a few numbers.

import type { Task } from 'turnloom'

export interface Capsule {
  kind: 'needs' | 'plan' | 'silent' | 'running' | 'queued' | 'subagents' | 'failed' | 'cancelled'
  count: number
  words: string
}

/** Everything that goes on in a few numbers: what needs somebody first. */
export function capsulesOf(running: Task[], ended: Task[]): Capsule[] {
  const count = (is: (task: Task) => boolean) => running.filter(is).length
  const sum = (of: (task: Task) => number) => running.reduce((total, task) => total + of(task), 0)
  const isPlan = (task: Task) => task.waitsFor === 'plan'
  const needs = count((task) => task.needsInput > 0 && !isPlan(task))
  const all: [Capsule['kind'], number, string][] = [
    ['needs', needs, needs === 1 ? 'needs input' : 'need input'],
    ['plan', count(isPlan), 'plan ready'],
    ['silent', count((task) => task.isZombie), 'silent'],
    ['failed', ended.filter(({ status }) => status === 'failed').length, 'failed'],
    ['running', count((task) => task.needsInput === 0 && !task.isZombie), 'running'],
    ['queued', sum(({ queued }) => queued), 'queued'],
    ['subagents', sum(({ subagents }) => subagents), 'sub-agents'],
    ['cancelled', ended.filter(({ status }) => status === 'cancelled').length, 'cancelled'],
  ]
  return all.flatMap(([kind, count, words]) => (count > 0 ? [{ kind, count, words }] : []))
}
