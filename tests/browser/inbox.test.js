// The inbox over all sessions: by key only, in two tabs, with notifications; and the page as an app.

import assert from 'node:assert/strict'

import { allIsInside, axeFindings, composer, eventually, none, session, workbench } from './fixture.js'

const main = (page) => page.getByRole('main')
const rows = (page, name) => main(page).getByRole('region', { name, exact: true }).getByRole('listitem')
const isActive = (locator) => eventually(`${locator} has the focus`, () => locator.evaluate((element) => element === document.activeElement))

/** A session that asks, one that failed and one that is done. */
async function some(daemon) {
  // The session that a new daemon begins with has something to tell too.
  await eventually('the first session is done', async () => (await daemon.call('GET', '/api/inbox')).items.length === 1)
  await daemon.call('POST', '/api/inbox/read', {})
  for (const [id, message] of [['asks', 'permission'], ['broken', 'error'], ['ready', 'echo all is woven']]) {
    await daemon.session(id)
    await daemon.say(id, message)
  }
  await eventually('all have something to tell', async () => (await daemon.call('GET', '/api/inbox')).items.length === 3)
}

workbench('the inbox is used with the keyboard only: walked through, read, snoozed, taken back, opened', async (daemon, openPage) => {
  await some(daemon)
  const page = await openPage()
  await page.keyboard.press('Alt+a')
  const article = main(page).getByRole('article')
  await article.waitFor()
  await rows(page, 'Failed').waitFor()
  await article.focus()
  await page.keyboard.press('ArrowDown')
  await isActive(rows(page, 'Failed').first())
  await page.keyboard.press('ArrowDown')
  const done = rows(page, 'Finished').first()
  await isActive(done)
  assert.match(await done.innerText(), /ready[\s\S]*all is woven/)
  // Read: it leaves, and the focus goes on to what is left.
  await page.keyboard.press('e')
  await none(rows(page, 'Finished'))
  await isActive(rows(page, 'Failed').first())
  await page.keyboard.press('z')
  await rows(page, 'Finished').first().waitFor()
  // Snoozed: out of the list and out of the count.
  await article.focus()
  assert.equal(await page.title(), '(1) Turnloom')
  await page.keyboard.press('s')
  await rows(page, 'Snoozed').first().waitFor()
  await none(article)
  await main(page).getByText('Nothing waits for you.').waitFor()
  await eventually('it does not count', async () => (await page.title()) === 'Turnloom')
  await rows(page, 'Snoozed').first().focus()
  await page.keyboard.press('s')
  await article.waitFor()
  // The menu has more times, and Escape closes it.
  await article.getByRole('button', { name: 'Snooze' }).press('Enter')
  await isActive(page.getByRole('menuitem').first())
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Escape')
  await none(page.getByRole('menuitem'))
  await isActive(article.getByRole('button', { name: 'Snooze' }))
  await article.getByRole('button', { name: 'Snooze' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Until tomorrow, 8:00' }).press('Enter')
  const { snoozed } = await eventually('it sleeps', async () => {
    const inbox = await daemon.call('GET', '/api/inbox')
    return inbox.snoozed.length === 1 && inbox
  })
  assert.ok(Date.parse(snoozed[0].snoozed_until) > Date.now() + 60_000)
  await rows(page, 'Failed').first().focus()
  await page.keyboard.press('Enter')
  await composer(page).waitFor()
  assert.match(page.url(), /#\/s\/broken$/)
})

workbench('read marks and snoozes are the same in two tabs, and what is looked at is read', async (daemon, openPage) => {
  await some(daemon)
  const [one, two] = [await openPage({ hash: '#/asks' }), await openPage({ hash: '#/asks' })]
  for (const page of [one, two]) await rows(page, 'Finished').first().waitFor()
  await rows(one, 'Failed').first().getByRole('button', { name: 'Mark as read' }).click()
  await none(rows(two, 'Failed'))
  await one.getByRole('button', { name: 'Undo' }).click()
  await rows(two, 'Failed').first().waitFor()
  await main(one).getByRole('article').getByRole('button', { name: 'Snooze' }).click()
  await one.getByRole('menuitem', { name: 'For an hour' }).click()
  await rows(two, 'Snoozed').first().waitFor()
  // Somebody looks at the session that is done: it is news no more, here and there.
  await one.goto(`${daemon.url}/${session('ready')}`)
  await none(rows(two, 'Finished'))
  // Also what ends while it is looked at.
  await daemon.say('ready', 'echo once more')
  await daemon.untilIdle('ready')
  await eventually('it is read', async () => {
    const { items } = await daemon.call('GET', '/api/inbox?all=true')
    return items.find((item) => item.session_id === 'ready')?.read
  })
  await rows(two, 'Failed').first().focus()
  await two.keyboard.press('e')
  await eventually('nothing is left', async () => (await daemon.call('GET', '/api/inbox')).items.length === 0)
})

workbench('a browser is told once it was allowed, and shows what the daemon pushes', async (daemon, openPage) => {
  await daemon.call('PATCH', '/api/notifications', { delay_seconds: 0 })
  const page = await openPage({ hash: '#/asks', permissions: ['notifications'] })
  await page.getByRole('button', { name: 'Notifications' }).click()
  const settings = page.getByRole('region', { name: 'Notifications' })
  await settings.getByRole('button', { name: 'Notify me here' }).click()
  // No push service is reached from here, so open pages tell it; the service worker is there all the same.
  await settings.getByText(/This browser is told/).waitFor()
  await settings.getByRole('button', { name: 'Do not notify me here' }).waitFor()
  await eventually('the service worker runs', () => page.evaluate(async () => (await navigator.serviceWorker.getRegistration('/'))?.active?.state === 'activated'))
  // Choices are the daemon's.
  await settings.getByLabel('Turns that ended').selectOption('all')
  await settings.getByLabel('Quiet hours').check()
  await settings.getByLabel('Quiet from').fill('21:30')
  await settings.getByLabel('Quiet from').blur()
  await eventually('they are kept', async () => {
    const { settings: kept } = await daemon.call('GET', '/api/notifications')
    return kept.done === 'all' && kept.quiet?.from === '21:30' && kept.quiet.to === '07:00'
  })
  await settings.getByLabel('Quiet hours').uncheck()
  await settings.getByLabel('Address of an ntfy topic').fill('http://127.0.0.1:9/topic')
  await settings.getByRole('button', { name: 'Add ntfy topic' }).click()
  await settings.getByText(/address of this machine/).waitFor()
  // What a push service would hand over, to a browser that nobody looks at.
  const worker = page.context().serviceWorkers()[0] ?? (await page.context().waitForEvent('serviceworker'))
  const tools = await page.context().newCDPSession(page)
  const registrations = []
  tools.on('ServiceWorker.workerRegistrationUpdated', (event) => registrations.push(...event.registrations))
  await tools.send('ServiceWorker.enable')
  const { registrationId } = await eventually('it is registered', () => registrations.find(({ scopeURL }) => scopeURL.startsWith(daemon.url)))
  const push = (told) => tools.send('ServiceWorker.deliverPushMessage', { origin: `${daemon.url}/`, registrationId, data: JSON.stringify(told) })
  const titles = () => worker.evaluate(async () => (await self.registration.getNotifications()).map(({ title, tag }) => `${tag} ${title}`))
  await page.goto('about:blank')
  const told = { type: 'show', tag: 'in_1', title: 'far needs you', body: 'Run it?', path: '/#/asks', needs_you: true }
  await push(told)
  await push(told)
  await eventually('it is shown once', async () => (await titles()).join() === 'in_1 far needs you')
  await push({ type: 'withdraw', tag: 'in_1' })
  await eventually('it is taken back', async () => (await titles()).length === 0)
  await page.goto(`${daemon.url}/#/asks`)
  await page.getByRole('button', { name: 'Notifications' }).click()
  await settings.getByRole('button', { name: 'Do not notify me here' }).click()
  await settings.getByRole('button', { name: 'Notify me here' }).waitFor()
})

workbench('the page can be installed as an app', async (daemon, openPage) => {
  const page = await openPage()
  const href = await page.locator('link[rel=manifest]').getAttribute('href')
  const manifest = await (await fetch(daemon.url + href)).json()
  assert.equal(manifest.display, 'standalone')
  for (const { src, sizes, type } of manifest.icons) {
    const response = await fetch(daemon.url + src)
    assert.deepEqual([src, response.status, response.headers.get('content-type')], [src, 200, type])
    if (type !== 'image/png') continue
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.equal(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, sizes)
  }
  const found = await (await page.context().newCDPSession(page)).send('Page.getAppManifest')
  assert.deepEqual(found.errors, [])
})

workbench('the inbox is for everybody: narrow, wide and for screen readers', async (daemon, openPage) => {
  await some(daemon)
  await daemon.call('POST', `/api/inbox/${(await daemon.call('GET', '/api/inbox')).items[2].item_id}/snooze`, { minutes: 60 })
  for (const viewport of [{ width: 360, height: 700 }, { width: 1440, height: 900 }]) {
    const page = await openPage({ hash: '#/asks', viewport, bypassCSP: true })
    await rows(page, 'Snoozed').first().waitFor()
    await page.getByRole('button', { name: 'Notifications' }).click()
    await page.getByLabel('Quiet hours').waitFor()
    await allIsInside(page, `${viewport.width} px`)
    assert.deepEqual(await axeFindings(page), [])
  }
})
