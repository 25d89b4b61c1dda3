// Channels as people see them: made with a secret that is shown once, set up in words, and what was taken, refused and answered.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'

import { allIsInside, axeFindings, eventually, none, workbench } from './fixture.js'

const PHONE = { viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true }
const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true })
const field = (page, name) => page.getByLabel(name, { exact: true })

const ISSUE = {
  action: 'opened',
  issue: { number: 7, title: 'It does not start', body: 'echo Try the new version.' },
  repository: { full_name: 'loom/turn' },
  sender: { login: 'ada', type: 'User' },
}

/** Delivers as GitHub does. */
async function deliver(daemon, name, secret, id, payload = ISSUE) {
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${signature}`,
  }
  return fetch(`${daemon.url}/hooks/${name}`, { method: 'POST', headers, body })
}

const ISSUES = {
  name: 'issues',
  kind: 'github',
  runtime: 'mock',
  params: { pace_ms: 0 },
  secret: { value: 'a secret that GitHub has too' },
  message: '{/issue/body}',
}

workbench('a channel is made, its secret is shown once, and issues become sessions', async (daemon, openPage) => {
  const page = await openPage({ hash: '#/channels' })
  await page.getByText('There are no channels yet.').waitFor()
  await page.getByRole('link', { name: 'New channel' }).press('Enter')
  await field(page, 'Name').fill('issues')
  await field(page, 'Agent').selectOption('mock')
  await page.getByText('Templates and limits').click()
  await field(page, 'What the agent is told').fill('{/issue/body}')
  await shot(page, 'channel-form')
  await page.getByRole('button', { name: 'Create channel' }).press('Enter')
  const once = page.getByRole('region', { name: 'Secret' })
  await once.waitFor()
  const secret = await once.locator('code').innerText()
  assert.ok(secret.length >= 40, secret)
  await page.getByText('Payload URL').waitFor()
  await page.getByText(`${daemon.url}/hooks/issues`).first().waitFor()
  await shot(page, 'channel-made')

  assert.equal((await deliver(daemon, 'issues', secret, 'one')).status, 202)
  const deliveries = page.getByRole('region', { name: 'Deliveries' })
  await deliveries.getByText('Done').waitFor()
  await deliveries.getByText('from ada', { exact: false }).waitFor()
  assert.equal((await deliver(daemon, 'issues', 'not the secret', 'two')).status, 401)
  await page.getByText('Refused: wrong signature 1').waitFor()
  assert.equal((await deliver(daemon, 'issues', secret, 'one')).status, 200)
  await eventually('it came twice', async () => (await daemon.call('GET', '/api/channels/issues')).counts.duplicates === 1)
  await shot(page, 'channel-deliveries')

  await once.getByRole('button', { name: 'I have it' }).click()
  await none(once)
  await page.reload()
  await deliveries.waitFor()
  await none(page.getByText(secret))
  await deliveries.getByRole('link', { name: 'Session of delivery one' }).click()
  await page.getByRole('log', { name: 'Conversation' }).getByText('Try the new version.').last().waitFor()
})

workbench('what is wrong with a channel stands beside its field', async (daemon, openPage) => {
  await daemon.call('POST', '/api/channels', ISSUES)
  const page = await openPage({ hash: '#/channels/new' })
  const isWrong = (name, words) =>
    eventually(`${name}: ${words}`, async () => {
      if ((await field(page, name).getAttribute('aria-invalid')) !== 'true') return false
      return words.test(await page.getByRole('alert').first().innerText())
    })
  await field(page, 'Name').fill('Not A Name')
  await field(page, 'Agent').selectOption('mock')
  await page.getByRole('button', { name: 'Create channel' }).click()
  await isWrong('Name', /small letters/)
  await field(page, 'Name').fill('issues')
  await page.getByRole('button', { name: 'Create channel' }).click()
  await isWrong('Name', /exists/)
  await field(page, 'Name').fill('other')
  await page.getByText('Templates and limits').click()
  await field(page, 'What the agent is told').fill('{/not closed')
  await page.getByRole('button', { name: 'Create channel' }).click()
  await isWrong('What the agent is told', /./)
  await shot(page, 'channel-wrong')
  assert.equal((await daemon.call('GET', '/api/channels')).channels.length, 1)
})

workbench('a channel is paused, changed and removed; what failed is tried again', async (daemon, openPage) => {
  await daemon.call('POST', '/api/channels', ISSUES)
  const page = await openPage({ hash: '#/channels/issues' })
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  assert.equal((await deliver(daemon, 'issues', ISSUES.secret.value, 'paused')).status, 503)
  await page.getByText('Refused: paused 1').waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await field(page, 'Only these senders').fill('ada, grace')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('ada, grace').waitFor()
  assert.deepEqual((await daemon.call('GET', '/api/channels/issues')).senders, ['ada', 'grace'])
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Open', { exact: true }).waitFor()
  const stranger = { ...ISSUE, sender: { login: 'mallory', type: 'User' } }
  assert.equal((await deliver(daemon, 'issues', ISSUES.secret.value, 'stranger', stranger)).status, 200)
  await page.getByText('Passed over: filtered out 1').waitFor()
  await page.getByRole('button', { name: 'Remove issues' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('There are no channels yet.').waitFor()
})

workbench('channels fit a small phone in both themes, and a screen reader', async (daemon, openPage) => {
  for (const kind of ['github', 'slack', 'telegram', 'hmac', 'bearer', 'standard']) {
    const value = kind === 'standard' ? `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}` : 'a secret of its own'
    await daemon.call('POST', '/api/channels', { ...ISSUES, name: kind, kind, secret: { value } })
  }
  await deliver(daemon, 'github', 'a secret of its own', 'one')
  await deliver(daemon, 'github', 'another', 'two')
  for (const colorScheme of ['light', 'dark']) {
    for (const hash of ['#/channels', '#/channels/new', '#/channels/github', '#/channels/telegram', '#/channels/bearer']) {
      for (const size of [PHONE, {}]) {
        const page = await openPage({ ...size, hash, colorScheme, bypassCSP: true })
        await page.getByRole('navigation', { name: 'Automation' }).waitFor()
        await none(page.getByText('Reading', { exact: true }))
        await allIsInside(page, `${hash} ${colorScheme}`)
        assert.deepEqual(await axeFindings(page), [], `${hash} ${colorScheme}`)
        await shot(page, `${size === PHONE ? 'phone' : 'wide'}-${hash.slice(2).replace('/', '-')}-${colorScheme}`)
      }
    }
  }
})
