// Addresses of pictures, on a clock of their own.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { followPictureUrl } from '../dist/pictures.js'

const MINUTES = 60_000
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a picture that is shown for long has a new address before the old one ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let asked = 0
  let isAway = false
  const turnloom = {
    getPictureLink: async () => {
      asked++
      if (isAway) throw new Error('away')
      return { url: `/picture?${asked}`, expiresInMs: 10 * MINUTES }
    },
  }
  const urls = []
  const leave = followPictureUrl(turnloom, 'blob', (url) => urls.push(url))
  const pass = async (ms) => {
    t.mock.timers.tick(ms)
    await settled()
  }
  await settled()
  assert.deepEqual(urls, ['/picture?1'])
  await pass(9 * MINUTES)
  assert.deepEqual(urls, ['/picture?1', '/picture?2'])
  // A daemon that is away for a moment is asked again.
  isAway = true
  await pass(9 * MINUTES)
  assert.deepEqual([urls.length, asked], [2, 3])
  isAway = false
  await pass(10_000)
  assert.deepEqual(urls, ['/picture?1', '/picture?2', '/picture?4'])
  leave()
  await pass(60 * MINUTES)
  assert.equal(asked, 4)
})

test('a picture that is not there is asked for once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let asked = 0
  const turnloom = { getPictureLink: () => (asked++, Promise.reject(new Error('not there'))) }
  const leave = followPictureUrl(turnloom, 'blob', () => assert.fail('there is none'))
  await settled()
  t.mock.timers.tick(60 * MINUTES)
  await settled()
  leave()
  assert.equal(asked, 1)
})
