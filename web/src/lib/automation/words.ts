// What schedules, channels and webhooks are called for people.

import type { Channel, ChannelDelivery, Schedule, ScheduleRun, ScheduleWhen } from 'turnloom'
import { number } from '../format'

export type Tone = 'ok' | 'warn' | 'bad' | 'muted' | 'accent'
export type Said = [word: string, tone: Tone]

const OUTCOMES: Record<NonNullable<ScheduleRun['outcome']>, Said> = {
  completed: ['Completed', 'ok'],
  stopped: ['Stopped', 'muted'],
  interrupted: ['Interrupted', 'warn'],
  failed: ['Failed', 'bad'],
  skipped: ['Skipped', 'muted'],
  missed: ['Missed', 'warn'],
}
const STATES: Record<ScheduleRun['state'], Said> = {
  queued: ['Queued', 'muted'],
  starting: ['Starting', 'accent'],
  running: ['Running', 'accent'],
  ended: ['Ended', 'muted'],
}

export const runWord = (run: ScheduleRun): Said => (run.outcome ? OUTCOMES[run.outcome] : STATES[run.state])

export const CAUSES: Record<ScheduleRun['cause'], string> = { due: 'due', late: 'made up for', manual: 'by hand' }

export function scheduleWord(schedule: Schedule): Said {
  if (schedule.status === 'paused') return ['Paused', 'warn']
  if (schedule.open_runs.some(({ state }) => state !== 'queued')) return ['Running', 'accent']
  return schedule.status === 'ended' ? ['Ended', 'muted'] : ['Active', 'ok']
}

const DELIVERIES: Record<ChannelDelivery['state'], Said> = {
  accepted: ['Waiting', 'muted'],
  running: ['Running', 'accent'],
  answered: ['Answering', 'accent'],
  done: ['Done', 'ok'],
  failed: ['Failed', 'bad'],
}
export const deliveryWord = (delivery: ChannelDelivery): Said => DELIVERIES[delivery.state]

export const KINDS: Record<Channel['kind'], string> = {
  github: 'GitHub',
  slack: 'Slack',
  telegram: 'Telegram',
  hmac: 'HMAC-SHA256',
  bearer: 'Bearer token',
  standard: 'Standard Webhooks',
}

const REFUSALS: Record<string, string> = {
  signature_missing: 'not signed',
  signature_wrong: 'wrong signature',
  delivery_too_old: 'too old',
  channel_secret_missing: 'the secret is not there',
  payload_malformed: 'cannot be read',
  template_leads_nowhere: 'a template leads nowhere',
  channel_paused: 'paused',
  channel_full: 'full',
  body_too_large: 'too large',
  too_many_deliveries: 'too many at once',
}
const IGNORED: Record<string, string> = { ping: 'pings', filtered: 'filtered out', bot: 'of bots' }

/** Counts by reason, the most frequent first. */
function counted(counts: Record<string, number>, words: Record<string, string>): [string, number][] {
  const all = Object.entries(counts).map(([code, count]): [string, number] => [words[code] ?? code, count])
  return all.sort(([, a], [, b]) => b - a)
}
export const refusals = (channel: Channel) => counted(channel.counts.refused, REFUSALS)
export const ignored = (channel: Channel) => counted(channel.counts.ignored, IGNORED)
export const sum = (counts: [string, number][]) => counts.reduce((total, [, count]) => total + count, 0)

/** Money as people read it: cents matter, and what is less than one too. */
export function usd(amount: number): string {
  if (amount === 0) return '$0'
  if (amount < 0.01) return `$${amount.toFixed(4)}`
  return amount < 100 ? `$${amount.toFixed(2)}` : `$${number(amount)}`
}

/** A moment in a zone. One that the browser does not know is told in UTC. */
export function inZone(at: string, zone: string): string {
  const style: Intl.DateTimeFormatOptions = {
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }
  try {
    return new Intl.DateTimeFormat('en-GB', { ...style, timeZone: zone }).format(new Date(at))
  } catch {
    return new Intl.DateTimeFormat('en-GB', { ...style, timeZone: 'UTC' }).format(new Date(at))
  }
}

/** When, here: for what has happened. */
export const here = (at: string) => inZone(at, Intl.DateTimeFormat().resolvedOptions().timeZone)

/** The zones to choose from, the browser's own first. */
export function zones(): string[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return [...new Set([own, 'UTC', ...Intl.supportedValuesOf('timeZone')])]
}

/** A rule as it is written. */
export const ruleText = (when: ScheduleWhen) =>
  when.type === 'cron' ? when.expression : when.type === 'interval' ? when.every : when.at

/** A list that people type with commas or lines. */
export const listOf = (text: string) =>
  text
    .split(/[\n,]/)
    .map((part) => part.trim())
    .filter(Boolean)
