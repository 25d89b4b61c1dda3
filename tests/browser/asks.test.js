// What waits for a person: how it is answered, where it is seen, how somebody who looks elsewhere hears of it.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, none, send, session, workbench } from './fixture.js'
import { Daemon } from './support.js'

workbench('a permission is given for an input that was edited', async (daemon, openPage) => {
  await daemon.session('edit')
  await daemon.say('edit', 'permission')
  const page = await openPage({ hash: session('edit') })
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Edited input').fill('rm -rf build/cache')
  await page.getByRole('button', { name: 'Allow this once' }).click()
  await conversation(page).getByText('Done, with your rm -rf build/cache.').waitFor()
})

workbench('an edited input that is no JSON and a daemon that does not answer are told apart', async (daemon, openPage) => {
  await daemon.session('apart')
  await daemon.say('apart', 'permissions')
  const page = await openPage({ hash: session('apart') })
  const card = page.locator('.ask').filter({ hasText: 'Change weave.txt' })
  const allow = card.getByRole('button', { name: 'Allow this once' })
  const [noJson, away] = ['This is not valid JSON.', 'The daemon does not answer.'].map((words) => card.getByText(words))
  await card.getByRole('button', { name: 'Edit', exact: true }).click()
  await card.getByLabel('Edited input').fill('{ "file_path": ')
  await allow.click()
  await noJson.waitFor()
  await page.route('**/api/sessions/apart/permissions/*', (route) => route.abort())
  await card.getByLabel('Edited input').fill('{ "file_path": "weft.txt" }')
  await allow.click()
  await away.waitFor()
  await none(noJson)
  await page.unroute('**/api/sessions/apart/permissions/*')
  await allow.click()
  await card.waitFor({ state: 'detached' })
  const settled = (await daemon.events('apart')).find(({ type }) => type === 'permission_resolved')
  assert.deepEqual(settled.data.updated_input, { file_path: 'weft.txt' })
})

workbench('of several rules the one that was pressed is stored', async (daemon, openPage) => {
  await daemon.session('rules')
  await daemon.say('rules', 'permission')
  const page = await openPage({ hash: session('rules') })
  await page.getByRole('button', { name: /Always.*:\*\)/ }).click()
  await conversation(page).getByText('Done, with your permission.').waitFor()
  const { events } = await daemon.call('GET', '/api/sessions/rules/events?after=0&limit=100')
  const asked = events.find((event) => event.type === 'permission_request').data
  const settled = events.find((event) => event.type === 'permission_resolved').data
  const rules = asked.options.filter((option) => option.reply === 'always').map((option) => option.rule)
  assert.equal(rules.length, 2)
  assert.deepEqual([settled.reply, settled.rule], ['always', rules[1]])
  await conversation(page).getByText(`Allowed always by you`).filter({ hasText: rules[1] }).waitFor()
})

workbench('a permission is rejected and the turn ends with it', async (daemon, openPage) => {
  await daemon.session('enough')
  await daemon.say('enough', 'permission')
  const page = await openPage({ hash: session('enough') })
  // Its keys are named as long as no button has the focus; it must not move away when it gets it.
  await conversation(page).focus()
  await page.locator('.ask kbd:visible').first().waitFor()
  await page.getByRole('button', { name: /^Reject/ }).click({ delay: 50 })
  await page.getByRole('button', { name: 'Reject and stop' }).click()
  await daemon.untilIdle('enough')
  const { events } = await daemon.call('GET', '/api/sessions/enough/events?after=0&limit=100')
  assert.equal(events.find((event) => event.type === 'permission_resolved').data.allowed, false)
  assert.equal(events.findLast((event) => event.type === 'done').data.outcome, 'stopped')
})

workbench('a permission is rejected with a reason, by keyboard, and the agent hears it', async (daemon, openPage) => {
  await daemon.session('reject')
  const page = await openPage({ hash: session('reject') })
  await composer(page).waitFor()
  await daemon.say('reject', 'permission')
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  await conversation(page).focus()
  await page.keyboard.press('Backspace')
  await page.getByPlaceholder('Reason for the agent (optional)').fill('the build is still needed')
  await page.keyboard.press('Enter')
  await conversation(page).getByText('I did not run it: the build is still needed.').waitFor()
  await conversation(page).getByText(/Rejected by you/).waitFor()
})

workbench('A6, an ask counts as settled when the log says so, not when a button was pressed', async (daemon, openPage) => {
  await daemon.session('honest')
  await daemon.say('honest', 'permission')
  const page = await openPage({ hash: session('honest') })
  const allow = page.getByRole('button', { name: /Allow once/ })
  await allow.waitFor()
  await page.route('**/api/sessions/honest/permissions/*', (route) => route.abort())
  await allow.click()
  await page.getByText('The daemon does not answer.').first().waitFor()
  assert.ok(await allow.isVisible(), 'it still waits')
  const [ask] = (await daemon.call('GET', '/api/asks')).asks
  await daemon.call('POST', `/api/sessions/honest/permissions/${ask.ask_id}`, { reply: 'once' })
  await allow.waitFor({ state: 'detached' })
  // Who decided is said, and it was not this page.
  const settled = conversation(page).getByText(/Allowed once by/)
  await settled.waitFor()
  assert.ok(!(await settled.innerText()).includes('by you'))
})

workbench('the inbox holds the asks of all sessions, oldest first, and they are answered there', async (daemon, openPage) => {
  for (const [id, what] of [['ask-a', 'permission'], ['ask-b', 'question'], ['ask-c', 'interrupt']]) {
    await daemon.session(id)
    await daemon.say(id, what)
    await eventually('it asks', async () => (await daemon.call('GET', '/api/asks')).asks.some((ask) => ask.session_id === id))
  }
  const page = await openPage({ hash: '#/asks' })
  const inbox = page.getByRole('main')
  await eventually('three of them', async () => (await inbox.getByRole('article').count()) === 3)
  const names = () => inbox.getByRole('article').getByRole('link').allInnerTexts()
  await eventually('the oldest is first', async () => (await names()).join() === 'ask-a,ask-b,ask-c')
  const of = (id) => inbox.getByRole('article').filter({ has: page.getByRole('link', { name: id }) })
  await of('ask-a').getByRole('button', { name: /Allow once/ }).click()
  await of('ask-b').getByRole('button', { name: /Linen/ }).click()
  await of('ask-b').getByRole('button', { name: /Weld/ }).click()
  await of('ask-b').getByRole('button', { name: 'Answer', exact: true }).click()
  await of('ask-c').getByLabel('Date').fill('2026-02-03')
  await of('ask-c').getByRole('button', { name: 'Submit', exact: true }).click()
  for (const id of ['ask-a', 'ask-b', 'ask-c']) await daemon.untilIdle(id)
  await inbox.getByText('Nothing waits for you.').waitFor()
  assert.match(await daemon.content('ask-b'), /You chose Linen; Weld\./)
  assert.match(await daemon.content('ask-c'), /You gave me .*"date":"2026-02-03"/)
})

workbench('somebody who looks elsewhere hears of an ask: in the title, in the icon, by a notification, and once', async (daemon, openPage) => {
  await daemon.session('far')
  await daemon.call('PATCH', '/api/notifications', { delay_seconds: 0 })
  const page = await openPage({ permissions: ['notifications'] })
  await page.addInitScript(() => {
    window.notified = []
    window.Notification = class {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      constructor(title, options) {
        window.notified.push([title, options.body])
      }
      close() {}
    }
    // A page in the background, as far as it can know.
    Object.defineProperty(document, 'visibilityState', { get: () => window.elsewhere ? 'hidden' : 'visible' })
  })
  await page.goto(`${daemon.url}/${session('far')}`)
  await page.reload()
  await composer(page).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search commands' }).fill('notify me')
  await page.keyboard.press('Enter')
  await eventually('it was chosen', () => page.evaluate(() => localStorage['turnloom.notify'] === 'true'))
  await page.evaluate(() => (window.elsewhere = true))
  await daemon.say('far', 'permission')
  await eventually('the title counts', async () => (await page.title()) === '(1) far · Turnloom')
  await eventually('the notification came', async () => (await page.evaluate(() => window.notified.length)) > 0)
  assert.deepEqual(await page.evaluate(() => window.notified), [['far needs you', 'Run rm -rf build']])
  const icon = () => page.locator('link[rel=icon]').getAttribute('href')
  await eventually('the icon counts', async () => /^data:image\/svg/.test(await icon()))
  await page.getByRole('button', { name: /Allow once/ }).click()
  await eventually('the title is quiet again', async () => (await page.title()) === 'far · Turnloom')
  await eventually('the icon is quiet again', async () => (await icon()) === '/favicon.svg')
})

workbench('a plan stays in sight: beside the conversation and as a line in the header', async (daemon, openPage) => {
  await daemon.session('plan')
  const page = await openPage({ hash: session('plan') })
  await composer(page).waitFor()
  await send(page, 'plan')
  await conversation(page).getByText('All steps are done.').waitFor()
  await page.getByRole('button', { name: 'Plan: 3 of 3 steps done' }).click()
  await page.getByRole('tabpanel').getByText('Write and delegate').waitFor()
})

workbench('a sign-in that ends leads to the sign-in page', async (daemon, openPage) => {
  await daemon.session('expired')
  const page = await openPage({ hash: session('expired') })
  await composer(page).fill('echo too late')
  // The cookie is gone while the page is open: the next thing it asks for is refused. That may be its own list of sessions, and then there is no
  // composer any more: the key goes to whatever has the focus.
  await page.context().clearCookies()
  await page.keyboard.press('Enter')
  await page.getByText('This browser is not signed in').waitFor()
  await page.getByText('turnloom open').waitFor()
})

workbench('a call of a client\'s tool is seen to wait, and is answered or dismissed here', async (daemon, openPage) => {
  await daemon.session('tools', { client_tools: [{ name: 'get_weather' }] })
  await daemon.say('tools', 'client get_weather {"city":"Ghent"}')
  const page = await openPage({ hash: session('tools') })
  await page.getByRole('heading', { name: 'Waiting for a client to run get_weather' }).waitFor()
  await page.getByLabel('Result').fill('clear')
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await conversation(page).getByText('The client says: clear').waitFor()
  await send(page, 'client get_weather')
  await page.getByRole('button', { name: 'Dismiss', exact: true }).click()
  await conversation(page).getByText('It failed: Nobody ran this tool.').waitFor()
  await conversation(page).getByText(/Failed by you/).waitFor()
})

workbench('what is pressed in a component reaches the agent', async (daemon, openPage) => {
  await daemon.session('press')
  await daemon.say('press', 'buttons')
  const page = await openPage({ hash: session('press') })
  await page.getByRole('button', { name: 'Throw it' }).click()
  await conversation(page).getByText('You pressed throw, with {"rows":1}.').waitFor()
})

workbench('a session from a file asks in words before it runs, with its own choices', async (daemon, openPage) => {
  await daemon.import('foreign', Daemon.turn('foreign', [['delta', { block_id: 'b', text: 'From elsewhere.', done: true }]]))
  const page = await openPage({ hash: session('foreign') })
  await composer(page).waitFor()
  await send(page, 'echo run')
  const card = page.getByRole('region', { name: /came from a file/ })
  await card.getByText('runtime', { exact: true }).waitFor()
  await card.getByText('mock', { exact: true }).waitFor()
  assert.doesNotMatch(await card.innerText(), /[{}"]/)
  assert.equal(await card.getByRole('button', { name: 'Edit' }).count(), 0, 'there is nothing to edit')
  await card.getByRole('button', { name: 'Do not run it' }).click()
  await card.getByRole('button', { name: 'Reject', exact: true }).click()
  await conversation(page).getByText('Not run: you did not let it').waitFor()
  await send(page, 'echo run after all')
  await card.getByRole('button', { name: 'Run it', exact: true }).click()
  await conversation(page).getByRole('article', { name: 'Agent' }).last().getByText('run after all').waitFor()
})

workbench('what needs somebody is counted while the archived sessions are shown', async (daemon, openPage) => {
  await daemon.session('cut')
  await daemon.say('cut', 'permission')
  await eventually('it asks', async () => (await daemon.call('GET', '/api/asks')).asks.length === 1)
  await daemon.kill()
  await daemon.again()
  await daemon.session('shelved')
  await daemon.call('DELETE', '/api/sessions/shelved')
  const page = await openPage()
  await eventually('it is counted', async () => (await page.title()) === '(1) Turnloom')
  await page.getByRole('button', { name: 'Archived' }).click()
  const list = page.getByRole('navigation', { name: 'Sessions', exact: true })
  await list.getByRole('link', { name: /shelved/ }).waitFor()
  await none(list.getByRole('link', { name: /^cut/ }))
  assert.equal(await page.title(), '(1) Turnloom')
  await page.goto(`${daemon.url}/#/asks`)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByText('Nothing waits for you.').waitFor()
  await eventually('and no more', async () => (await page.title()) === 'Turnloom')
})
