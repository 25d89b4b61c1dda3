// Webhooks as people see them: made, tried, paused, what was delivered, and what nobody took.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { allIsInside, axeFindings, eventually, none, workbench } from './fixture.js'

const PHONE = { viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true }
const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true })
const field = (page, name) => page.getByLabel(name, { exact: true })

/** Who is told, with the status it answers. */
async function receiver(status = () => 204) {
  const told = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => (body += piece))
    request.on('end', () => {
      told.push({ headers: request.headers, body: JSON.parse(body) })
      response.writeHead(status()).end()
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { told, url: `http://127.0.0.1:${server.address().port}/told`, close: () => server.close() }
}

/** A daemon that may tell receivers on this machine. */
async function allowPrivate(daemon) {
  await daemon.terminate()
  await writeFile(join(daemon.data, 'config.toml'), 'allow_private_targets = true\n')
  await daemon.again()
}

workbench('a webhook is made, tried, told, paused and told afterwards', async (daemon, openPage) => {
  await allowPrivate(daemon)
  const there = await receiver()
  await daemon.session('told', { pace_ms: 0 })
  const page = await openPage({ hash: '#/webhooks' })
  await page.getByText('There are no webhooks yet.').waitFor()
  await page.getByRole('link', { name: 'New webhook' }).press('Enter')
  await field(page, 'Address').fill(there.url)
  await field(page, 'Description').fill('The build server')
  await page.getByRole('checkbox', { name: /turn\.completed/ }).press('Space')
  await shot(page, 'webhook-form')
  await page.getByRole('button', { name: 'Create webhook' }).press('Enter')
  const once = page.getByRole('region', { name: 'Secret' })
  assert.match(await once.locator('code').innerText(), /^whsec_/)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText(/The receiver took it: 204/).waitFor()
  assert.equal(there.told[0].body.type, 'webhook.test')

  await daemon.say('told', 'echo hello')
  const tries = page.getByRole('region', { name: 'Last tries' })
  await tries.getByText('Delivered').waitFor()
  assert.equal(there.told.at(-1).body.data.text, 'hello')
  await shot(page, 'webhook-told')
  await tries.getByRole('button', { name: /^Send again: turn\.completed/ }).click()
  await eventually('it is told again', () => there.told.length === 3)
  assert.equal(there.told[1].headers['webhook-id'], there.told[2].headers['webhook-id'])

  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await daemon.say('told', 'echo later')
  await daemon.untilIdle('told')
  assert.equal(there.told.length, 3)
  await page.getByRole('button', { name: 'Resume' }).click()
  await eventually('what it missed is told', () => there.told.some(({ body }) => body.data.text === 'later'))
  await page.getByRole('button', { name: 'Edit' }).click()
  await field(page, 'Description').fill('Another one')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Another one' }).waitFor()
  await page.getByRole('button', { name: 'Remove this webhook' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('There are no webhooks yet.').waitFor()
  there.close()
})

workbench('a receiver that does not take it is seen, and one that wants no more is stopped', async (daemon, openPage) => {
  await allowPrivate(daemon)
  let status = 500
  const there = await receiver(() => status)
  await daemon.session('told', { pace_ms: 0 })
  const made = await daemon.call('POST', '/api/webhooks', { url: there.url })
  const page = await openPage({ hash: `#/webhooks/${made.webhook.webhook_id}` })
  await page.getByText('None since the daemon started.').waitFor()
  await daemon.say('told', 'echo hello')
  await page.getByRole('region', { name: 'Waiting' }).getByText(/status 500/).first().waitFor()
  await page.getByRole('region', { name: 'Last tries' }).getByText('Failed').first().waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText(/The receiver did not take it: status 500/).waitFor()
  await shot(page, 'webhook-failing')
  status = 410
  await page.getByText(/It was stopped: the receiver said 410/).waitFor()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  status = 204
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('region', { name: 'Last tries' }).getByText('Delivered').first().waitFor()
  await none(page.getByRole('region', { name: 'Waiting' }))
  there.close()
})

workbench('an address of our own network stands refused beside its field', async (daemon, openPage) => {
  const page = await openPage({ hash: '#/webhooks/new' })
  await field(page, 'Address').fill('http://127.0.0.1:9/told')
  await page.getByRole('button', { name: 'Create webhook' }).click()
  await eventually('it is wrong', async () => (await field(page, 'Address').getAttribute('aria-invalid')) === 'true')
  await page.getByRole('alert').getByText(/allow_private_targets/).waitFor()
  await shot(page, 'webhook-wrong')
  assert.deepEqual((await daemon.call('GET', '/api/webhooks')).webhooks, [])
})

workbench('webhooks fit a small phone in both themes, and a screen reader', async (daemon, openPage) => {
  await allowPrivate(daemon)
  const there = await receiver(() => 500)
  await daemon.session('told', { pace_ms: 0 })
  const made = await daemon.call('POST', '/api/webhooks', { url: there.url, description: 'The build server' })
  await daemon.say('told', 'echo hello')
  await eventually('it was tried', () => there.told.length > 0)
  for (const colorScheme of ['light', 'dark']) {
    for (const [name, hash] of [['list', '#/webhooks'], ['new', '#/webhooks/new'], ['one', `#/webhooks/${made.webhook.webhook_id}`]]) {
      for (const size of [PHONE, {}]) {
        const page = await openPage({ ...size, hash, colorScheme, bypassCSP: true })
        await page.getByRole('navigation', { name: 'Automation' }).waitFor()
        await none(page.getByText('Reading', { exact: true }))
        await allIsInside(page, `${hash} ${colorScheme}`)
        assert.deepEqual(await axeFindings(page), [], `${hash} ${colorScheme}`)
        await shot(page, `${size === PHONE ? 'phone' : 'wide'}-webhooks-${name}-${colorScheme}`)
      }
    }
  }
  there.close()
})
