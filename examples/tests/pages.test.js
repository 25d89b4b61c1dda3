// Every page in a real browser: a message, an answer as it comes, a permission, a question, a stop, and coming back.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { Stage, eventually } from './support.js'

let stage
before(async () => {
  stage = await Stage.open()
})
after(() => stage.close())

const pages = [
  'react',
  'react, straight to the daemon',
  'use-chat',
  'use-chat, straight to the daemon',
  'http-agent',
  'http-agent, straight to the daemon',
  'sdk',
]

describe('pages', { concurrency: 3 }, () => {
  for (const [at, name] of pages.entries()) test(name, (t) => tour(t, name, `page-${at}`))
})

async function tour(t, name, id) {
  if (name !== 'sdk') await stage.daemon.session(id, { pace_ms: 1 }) // that page makes its own
  const { page, context, wrong, log, say: type } = await stage.visit(name, id)
  t.after(() => context.close())
  const stop = page.getByRole('button', { name: 'Stop' })
  // What is said is there before the turn is over, and these clients run one at a time.
  const say = async (text) => {
    await stop.waitFor({ state: 'hidden' })
    await type(text)
  }

  await say('echo hello there')
  await log.getByText('hello there', { exact: true }).waitFor()

  await say('tool')
  await log.getByText('Three tools worked and one did not.').waitFor()
  assert.equal(await log.getByText('done', { exact: true }).count(), 3)
  assert.equal(await log.getByText('failed', { exact: true }).count(), 1)

  // It is shown as it comes: the page holds more and more, and there is no end until it is stopped.
  await say('stream 1000000 10 200')
  const lengths = new Set()
  await eventually('it grows', async () => lengths.add((await log.innerText()).length).size > 4)
  await stop.click()
  await stop.waitFor({ state: 'hidden' })

  await say('permission')
  await page.getByRole('button', { name: 'Allow' }).click()
  await log.getByText('Done, with your permission.').waitFor()
  await say('permission')
  await page.getByRole('button', { name: 'Reject' }).click()
  await log.getByText('I did not run it').waitFor()

  await say('question')
  if (name === 'sdk') {
    await page.getByLabel('Which thread').fill('Silk')
    await page.getByLabel('Which colours').fill('Weld')
  } else {
    await page.getByRole('radio', { name: 'Silk' }).check()
    await page.getByRole('checkbox', { name: 'Indigo' }).check()
    await page.getByRole('checkbox', { name: 'Weld' }).check()
  }
  await page.getByRole('button', { name: 'Answer' }).click()
  await log.getByText(name === 'sdk' ? 'You chose Silk; Weld.' : 'You chose Silk; Indigo and Weld.').waitFor()
  if (name !== 'sdk') {
    await say('question')
    await page.getByRole('button', { name: 'Skip' }).click()
    await log.getByText('Then I will choose myself.').waitFor()
  }

  // Somebody who comes back while it runs sees the same and can stop it.
  await say('hang')
  await log.getByText('Waiting.').waitFor()
  const before = await log.innerText()
  await page.reload()
  await eventually('it is all there again', async () => (await log.innerText()) === before)
  await stop.click()
  await stop.waitFor({ state: 'hidden' })
  assert.equal((await stage.daemon.show(id)).status, 'idle')

  await say('error')
  await log.getByText('The model refused the request').first().waitFor()
  assert.deepEqual(wrong, [])
}

test('the page with the SDK says why it shows nothing', async (t) => {
  const { context, log } = await stage.visit('sdk, with a wrong token')
  t.after(() => context.close())
  await log.getByRole('alert').getByText('token').waitFor()
})

test('a page whose origin the daemon does not know says what to configure', async (t) => {
  const { context, log } = await stage.visit('sdk, from an origin that is not listed')
  t.after(() => context.close())
  const alert = log.getByRole('alert')
  await alert.waitFor()
  const origin = new URL(stage.pages['sdk, from an origin that is not listed']()).origin
  assert.match(await alert.innerText(), new RegExp(`pages of ${origin} may not call this daemon.*origins.*config.toml`))
})

test('pictures are shown by addresses that need no token', async (t) => {
  await stage.daemon.session('pictures')
  const { context, log, page } = await stage.visit('react, straight to the daemon', 'pictures')
  t.after(() => context.close())
  await page.getByLabel('Message').waitFor()
  const data = await page.evaluate(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 128, height: 96 })
    const paint = canvas.getContext('2d')
    const noise = paint.createImageData(128, 96)
    crypto.getRandomValues(noise.data)
    paint.putImageData(noise, 0, 0)
    return canvas.toDataURL('image/png').split(',')[1]
  })
  assert.ok(data.length > 20_000, 'too large for its event')
  const message = [
    { type: 'text', text: 'echo look' },
    { type: 'image', media_type: 'image/png', data },
  ]
  await stage.daemon.call('POST', '/api/sessions/pictures/message', { message })
  const picture = log.locator('img')
  await picture.waitFor()
  await eventually('it is drawn', async () => (await picture.evaluate((img) => img.naturalWidth)) === 128)
  assert.match(await picture.getAttribute('src'), /signature=/)
})

test('the SDK brings a page back when the daemon was killed', async (t) => {
  const { context, log, page, say } = await stage.visit('sdk', 'killed')
  t.after(() => context.close())
  await say('hang')
  await log.getByText('Waiting.').waitFor()
  await stage.daemon.kill()
  await page.getByText('waiting', { exact: true }).waitFor()
  await stage.daemon.again()
  // The turn was interrupted, which the page hears by itself.
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' })
  await say('echo alive')
  await log.getByText('alive', { exact: true }).waitFor()
  await log.getByText('Waiting.').waitFor()
})

/** A page of useChat whose clock is the test's, and the streams of events that it holds. */
async function watched(t, id) {
  await stage.daemon.session(id)
  const { context, log, page, say } = await stage.visit('use-chat, straight to the daemon', id)
  t.after(() => context.close())
  const held = new Set()
  const isStream = (request) => request.url().includes('/events?types=')
  page.on('request', (request) => isStream(request) && held.add(request))
  page.on('requestfailed', (request) => held.delete(request))
  page.on('requestfinished', (request) => held.delete(request))
  await page.clock.install()
  return { log, page, say, held }
}

test('a page of useChat that nobody looks at gives its stream back, and catches up when somebody does', async (t) => {
  const { log, page, held } = await watched(t, 'away')
  const look = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
      document.dispatchEvent(new Event('visibilitychange'))
    }, state)
  await page.reload()
  await eventually('it follows', () => held.size === 1)
  await look('hidden')
  await page.clock.runFor(31_000)
  await eventually('the stream is given back', () => held.size === 0)
  await stage.daemon.call('POST', '/api/sessions/away/message', { message: 'echo meanwhile' })
  await page.clock.runFor(10_000)
  assert.equal(held.size, 0, 'nobody looks yet')
  await look('visible')
  await eventually('it follows again', async () => {
    await page.clock.runFor(1_000)
    return held.size === 1
  })
  await eventually('it has caught up', async () => {
    await page.clock.runFor(100)
    return (await log.getByText('meanwhile', { exact: true }).count()) > 0
  })
})

test('a page of useChat leaves a stream that says nothing any more', async (t) => {
  const { page, held } = await watched(t, 'silent')
  // The connection stands, and nobody is at its other end.
  await page.route('**/events?types=*', () => undefined)
  await page.reload()
  const [dead] = await eventually('it follows', () => held.size === 1 && [...held])
  await page.clock.runFor(30_000)
  assert.ok(held.has(dead), 'it may only be slow')
  await page.clock.runFor(9_000)
  await eventually('another one', async () => {
    await page.clock.runFor(1_000)
    return !held.has(dead) && held.size === 1
  })
})
