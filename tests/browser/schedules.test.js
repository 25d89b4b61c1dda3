// Schedules as people see them: made, explained, run, paused, changed and removed, and what became of each run.

import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { allIsInside, axeFindings, eventually, none, workbench } from './fixture.js'

const PHONE = { viewport: { width: 360, height: 780 }, isMobile: true, hasTouch: true }
const shot = (page, name) => process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true })
const field = (page, name) => page.getByLabel(name, { exact: true })

const NIGHTLY = {
  schedule_id: 'nightly',
  title: 'Update the dependencies',
  when: { type: 'cron', expression: '0 3 * * *' },
  zone: 'Europe/Berlin',
  prompt: 'echo updated. Last night: {{last_result}}',
  runtime: 'mock',
  params: { pace_ms: 0 },
}

const runs = async (daemon, id) => (await daemon.call('GET', `/api/schedules/${id}/runs`)).runs

workbench('a schedule is made with the keyboard, explained in words, and runs', async (daemon, openPage) => {
  const page = await openPage({ hash: '#/schedules', timezoneId: 'Europe/Berlin' })
  await page.getByText('There are no schedules yet.').waitFor()
  await page.getByRole('link', { name: 'New schedule' }).press('Enter')
  await field(page, 'Title').fill('Update the dependencies')
  await page.getByText('At 03:00 every day', { exact: false }).waitFor()
  assert.equal(await page.getByRole('list', { name: 'Next runs' }).getByRole('listitem').count(), 5)
  assert.match(await page.getByRole('list', { name: 'Next runs' }).getByRole('listitem').first().innerText(), /03:00/)
  await field(page, 'Cron expression').fill('30 9 * * MON-FRI')
  await page.getByText('at 09:30, Monday to Friday', { exact: false }).waitFor()
  await field(page, 'Time zone').fill('America/New_York')
  await eventually('the times are those of the zone', async () =>
    /09:30 (GMT-[45]|E[SD]T)/.test(await page.getByRole('list', { name: 'Next runs' }).innerText()),
  )
  await field(page, 'Prompt').fill('echo done, {{date}}')
  await field(page, 'Agent').selectOption('mock')
  await shot(page, 'schedule-form')
  await page.keyboard.press('Tab')
  await page.getByRole('button', { name: 'Create schedule' }).press('Enter')
  await page.getByRole('heading', { name: 'Update the dependencies' }).waitFor()
  const [made] = (await daemon.call('GET', '/api/schedules')).schedules
  assert.deepEqual([made.when.expression, made.zone, made.runtime], ['30 9 * * MON-FRI', 'America/New_York', 'mock'])

  await page.getByRole('button', { name: 'Run now' }).press('Enter')
  const history = page.getByRole('region', { name: 'Runs' })
  await history.getByText('Completed').waitFor()
  await history.getByText('by hand').waitFor()
  await history.getByText(/tokens/).waitFor()
  await history.getByText('What it said').click()
  await history.getByText(/^done, \d{4}-\d{2}-\d{2}$/).waitFor()
  await shot(page, 'schedule-runs')
  await history.getByRole('link', { name: /^Session of the run/ }).click()
  await page.getByRole('log', { name: 'Conversation' }).getByText(/^done, /).waitFor()
})

workbench('what is wrong with a schedule stands beside its field, and nothing is made', async (daemon, openPage) => {
  const page = await openPage({ hash: '#/schedules/new' })
  await field(page, 'Title').fill('Wrong')
  await field(page, 'Prompt').fill('echo {{nobody}}')
  await field(page, 'Agent').selectOption('mock')
  const beside = (name, words) =>
    eventually(`${name}: ${words}`, async () => {
      const input = field(page, name)
      if ((await input.getAttribute('aria-invalid')) !== 'true') return false
      const ids = (await input.getAttribute('aria-describedby')).split(' ')
      const texts = await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).innerText()))
      return texts.some((text) => words.test(text))
    })
  await field(page, 'Cron expression').fill('every day')
  await beside('Cron expression', /is no cron expression/i)
  await field(page, 'Cron expression').fill('0 3 * * *')
  await field(page, 'Time zone').fill('Mars/Olympus')
  await beside('Time zone', /there is no time zone/i)
  await shot(page, 'schedule-wrong-zone')
  await field(page, 'Time zone').fill('UTC')
  await page.getByText('at 03:00 every day', { exact: false }).waitFor()
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await beside('Prompt', /nobody/)
  await eventually('the field has the focus', () => field(page, 'Prompt').evaluate((input) => input === document.activeElement))
  await field(page, 'Prompt').fill('echo hi')
  await field(page, 'Folder').fill('/not/there')
  await page.getByRole('button', { name: 'Create schedule' }).click()
  await beside('Folder', /must be a directory that exists/i)
  await shot(page, 'schedule-wrong-folder')
  assert.deepEqual((await daemon.call('GET', '/api/schedules')).schedules, [])
})

workbench('a schedule whose folder is gone fails visibly, and can be paused and mended', async (daemon, openPage) => {
  const cwd = join(daemon.data, 'project')
  await mkdir(cwd)
  await daemon.call('POST', '/api/schedules', { ...NIGHTLY, params: { cwd } })
  await rm(cwd, { recursive: true })
  const page = await openPage({ hash: '#/schedules/nightly' })
  await page.getByRole('button', { name: 'Run now' }).click()
  const history = page.getByRole('region', { name: 'Runs' })
  await history.getByText('Failed').waitFor()
  await history.getByText(/the directory .* is not there/).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('None while it is paused').waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await field(page, 'Folder').fill(daemon.data)
  await field(page, 'Title').fill('Mended')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Mended' }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Run now' }).click()
  await history.getByText('Completed').waitFor()
})

workbench('what others do to schedules is seen at once, without being asked for', async (daemon, openPage) => {
  const page = await openPage({ hash: '#/schedules' })
  await page.getByText('There are no schedules yet.').waitFor()
  await daemon.call('POST', '/api/schedules', NIGHTLY)
  const row = page.getByRole('listitem').filter({ hasText: 'Update the dependencies' })
  await row.getByText('at 03:00 every day, Europe/Berlin', { exact: false }).waitFor()
  await daemon.call('PATCH', '/api/schedules/nightly', { paused: true })
  await row.getByText('Paused').waitFor()
  await daemon.call('POST', '/api/schedules/nightly/run', {})
  await row.getByText('Completed').waitFor()
  let asked = 0
  page.on('request', (request) => (asked += request.url().includes('/api/schedules') ? 1 : 0))
  const before = await daemon.call('GET', '/api/automation')
  await daemon.call('DELETE', '/api/schedules/nightly')
  await page.getByText('There are no schedules yet.').waitFor()
  assert.notEqual((await daemon.call('GET', '/api/automation')).schedules, before.schedules)
  assert.ok(asked <= 2, `${asked} requests for one change`)
})

workbench('a schedule is removed after a question, and its sessions stay', async (daemon, openPage) => {
  await daemon.call('POST', '/api/schedules', NIGHTLY)
  await daemon.call('POST', '/api/schedules/nightly/run', {})
  const [run] = await eventually('it has run', async () => {
    const all = await runs(daemon, 'nightly')
    return all[0]?.state === 'ended' && all
  })
  const page = await openPage({ hash: '#/schedules/nightly' })
  const remove = page.getByRole('button', { name: 'Remove Update the dependencies' })
  await remove.click()
  await page.keyboard.press('Escape')
  await eventually('the focus is back', () => remove.evaluate((button) => button === document.activeElement))
  await remove.click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('There are no schedules yet.').waitFor()
  assert.equal((await daemon.show(run.session_id)).status, 'idle')
})

workbench('schedules fit a small phone in both themes, and a screen reader', async (daemon, openPage) => {
  await daemon.call('POST', '/api/schedules', {
    ...NIGHTLY,
    title: 'Update the dependencies of a project with a name that is quite long for such a small screen',
    budget: { usd: 2 },
    total_budget: { usd: 50 },
  })
  await daemon.call('POST', '/api/schedules/nightly/run', {})
  for (const colorScheme of ['light', 'dark']) {
    for (const hash of ['#/schedules', '#/schedules/nightly', '#/schedules/new', '#/spending']) {
      const page = await openPage({ ...PHONE, hash, colorScheme, bypassCSP: true })
      await page.getByRole('navigation', { name: 'Automation' }).waitFor()
      await none(page.getByText('Reading', { exact: true }))
      await allIsInside(page, `${hash} ${colorScheme}`)
      assert.deepEqual(await axeFindings(page), [], `${hash} ${colorScheme}`)
      await shot(page, `phone-${hash.slice(2).replace('/', '-')}-${colorScheme}`)
      const wide = await openPage({ hash, colorScheme, bypassCSP: true })
      await wide.getByRole('navigation', { name: 'Automation' }).waitFor()
      await none(wide.getByText('Reading', { exact: true }))
      assert.deepEqual(await axeFindings(wide), [], `${hash} ${colorScheme}, wide`)
      await shot(wide, `wide-${hash.slice(2).replace('/', '-')}-${colorScheme}`)
    }
  }
})

workbench('what was spent is seen by day and by schedule, and grows while one looks', async (daemon, openPage) => {
  await daemon.call('POST', '/api/schedules', { ...NIGHTLY, prompt: 'spend 450 1' })
  const page = await openPage({ hash: '#/spending' })
  const today = page.getByRole('region', { name: 'Today' })
  await today.getByText('Turns', { exact: true }).waitFor()
  await daemon.call('POST', '/api/schedules/nightly/run', {})
  await page.getByRole('region', { name: 'By group' }).getByRole('link', { name: 'schedule/nightly' }).waitFor()
  await page.getByRole('region', { name: 'By day' }).getByRole('row').nth(1).waitFor()
  await page.getByRole('link', { name: 'schedule/nightly' }).click()
  await page.getByRole('heading', { name: 'Update the dependencies' }).waitFor()
})
