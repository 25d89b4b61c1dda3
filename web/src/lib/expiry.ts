// How long an ask waits for a person, and what becomes of it then. Not every ask ends by itself.

import { elapsed } from './format'

/** What an ask has where the rule that asks does not wait for ever. */
export interface Limited {
  expiry?: { at: string; allowed: boolean } | undefined
}

export const limitOf = (ask: object): Limited => ask as Limited

/** Nothing where there is no limit. */
export function expiryWords({ expiry }: Limited, now: number): string {
  if (expiry === undefined) return ''
  const left = Date.parse(expiry.at) - now
  const then = expiry.allowed ? 'then it is allowed' : 'then it is rejected'
  return left > 0 ? `${elapsed(left)} left, ${then}` : `Time is up, ${then}`
}
