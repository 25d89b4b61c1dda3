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
  const { page, context, wrong, log, say } = await stage.visit(name, id)
  t.after(() => context.close())
  const stop = page.getByRole('button', { name: 'Stop' })

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
