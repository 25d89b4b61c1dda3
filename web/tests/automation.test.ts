// What the pages about schedules, channels and webhooks make of what the daemon says.

import { describe, expect, test } from 'vitest'
import { TurnloomError } from 'turnloom'
import { wrongOf } from '../src/lib/automation/fields'
import { inZone, listOf, usd } from '../src/lib/automation/words'

const refused = (detail: string, code = 'invalid_request') => new TurnloomError(400, { detail, code })

describe('an error stands beside its field', () => {
  const fields = ['title', 'when', 'zone', 'cwd', 'url', '']
  test('which it names first', () => {
    expect(wrongOf(refused('`zone`: there is no time zone "Mars"'), fields)).toEqual({
      zone: { detail: 'There is no time zone "Mars"', fix: undefined },
    })
    expect(Object.keys(wrongOf(refused('`title` must have 1 to 200 bytes'), fields))).toEqual(['title'])
  })
  test('also where only what is around it is shown, or it has another name', () => {
    expect(Object.keys(wrongOf(refused('`when.expression`: no'), fields))).toEqual(['when'])
    expect(Object.keys(wrongOf(refused('`params.cwd` must be a directory'), fields, { 'params.cwd': 'cwd' }))).toEqual([
      'cwd',
    ])
  })
  test('or its code says which', () => {
    expect(Object.keys(wrongOf(refused('not there', 'private_target'), fields))).toEqual(['url'])
  })
  test('or it repeats what was typed there', () => {
    const wrong = wrongOf(
      refused('the body is not right: `{/a` is not closed'),
      fields,
      {},
      { url: '', title: 'x {/a' },
    )
    expect(Object.keys(wrong)).toEqual(['title'])
  })
  test('and what belongs to none belongs to the form', () => {
    expect(wrongOf(refused('`jitter` is new'), fields)).toEqual({ '': { detail: '`jitter` is new', fix: undefined } })
  })
})

test('times are told in the zone that was chosen, and in UTC where nobody knows it', () => {
  expect(inZone('2026-07-01T01:00:00Z', 'Europe/Berlin')).toMatch(/^Wed, 01 Jul 2026, 03:00/)
  expect(inZone('2026-01-01T02:00:00Z', 'Europe/Berlin')).toMatch(/03:00/)
  expect(inZone('2026-01-01T02:00:00Z', 'Mars/Olympus')).toMatch(/02:00 UTC$/)
})

test('money and lists are as people write them', () => {
  expect([0, 0.0012, 1.5, 1234].map(usd)).toEqual(['$0', '$0.0012', '$1.50', '$1\u202f234'])
  expect(listOf('a, b\n c ,,')).toEqual(['a', 'b', 'c'])
})
