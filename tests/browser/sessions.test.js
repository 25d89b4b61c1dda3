// Several sessions at once: tabs, the list, what can be done to a session as a whole.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, isShown, none, send, session, visit, workbench } from './fixture.js'

const strip = (page) => page.getByRole('navigation', { name: 'Open sessions' })
const names = (page) => strip(page).getByRole('link').allInnerTexts()

workbench('sessions stay open in tabs, over a reload, and close by mouse and by key', async (daemon, openPage) => {
  for (const id of ['one', 'two', 'three']) await daemon.session(id)
  const page = await openPage({ hash: session('one') })
  for (const id of ['one', 'two', 'three']) {
    await page.getByRole('navigation', { name: 'Sessions', exact: true }).getByRole('link', { name: id }).click()
    await isShown(page, id)
  }
  await eventually('three tabs', async () => (await names(page)).join() === 'one,two,three')
  await page.reload()
  await eventually('three tabs again', async () => (await names(page)).join() === 'one,two,three')
  await page.keyboard.press('Alt+1')
  await isShown(page, 'one')
  await strip(page).getByRole('link', { name: 'two' }).click({ button: 'middle' })
  await eventually('two is closed', async () => (await names(page)).join() === 'one,three')
  assert.match(page.url(), /#\/s\/one$/)
  await page.keyboard.press('Alt+w')
  await page.waitForURL(/#\/s\/three$/)
  // One session alone needs no strip.
  await none(strip(page))
})

workbench('a tab that is not seen has no connection, says what happens, and goes on from where it was', async (daemon, openPage) => {
  await daemon.session('here')
  await daemon.session('there')
  const page = await openPage({ hash: session('there'), sse: true })
  const streams = []
  page.on('request', (request) => request.url().includes('/view/stream') && streams.push(new URL(request.url())))
  await composer(page).waitFor()
  await send(page, 'echo before I left')
  await conversation(page).getByText('before I left').last().waitFor()
  await daemon.untilIdle('there')
  await composer(page).fill('a draft')
  const left = await daemon.call('GET', '/api/sessions/there')
  await eventually('all of it is on the page', () => page.evaluate((seq) => JSON.parse(localStorage['turnloom.tabs']).some((tab) => tab.seen >= seq), left.head))

  await page.goto(`${page.url().split('#')[0]}${session('here')}`)
  await eventually('a session is open', async () => (await page.title()).startsWith('here'))
  const followers = async () => Number(/turnloom_followers (\d+)/.exec(await (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text())[1])
  // Without WebSockets the lists are read when the stream of tasks says so, which is the other one.
  await eventually('one session is followed', async () => (await followers()) === 2)
  await daemon.say('there', 'permission')
  await strip(page).getByRole('link', { name: /asks you.*there/ }).waitFor()

  streams.length = 0
  let answer
  const held = new Promise((resolve) => (answer = resolve))
  await page.route('**/api/sessions/there/view/stream*', async (route) => {
    await held
    await route.continue()
  })
  await strip(page).getByRole('link', { name: /there/ }).click()
  // What was known is there before the daemon has said anything.
  await conversation(page).getByText('before I left').first().waitFor()
  await eventually('the draft is there', async () => (await composer(page).inputValue()) === 'a draft')
  assert.equal(await page.getByRole('button', { name: /Allow once/ }).count(), 0)
  answer()
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  assert.equal(streams[0].searchParams.get('after'), String(left.head))
})

workbench('on a phone the tabs are a list of choices', async (daemon, openPage) => {
  await daemon.session('left')
  await daemon.session('right')
  const page = await openPage({ hash: session('left'), viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
  await composer(page).waitFor()
  await visit(daemon, page, 'right')
  const choice = page.getByRole('combobox', { name: 'Open sessions' })
  await choice.waitFor()
  await choice.selectOption('left')
  await isShown(page, 'left')
  await page.getByRole('button', { name: "Close this session's tab" }).click()
  await isShown(page, 'right')
})

workbench('model, mode and settings of a session are changed where they are shown', async (daemon, openPage) => {
  await daemon.session('dial', { model: 'mock-1', pace_ms: 3 })
  const page = await openPage({ hash: session('dial') })
  await page.getByRole('button', { name: 'Mock agent · mock-1' }).click()
  await page.getByLabel('Model', { exact: true }).fill('mock-2')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Mock agent · mock-2' }).waitFor()
  await page.getByRole('button', { name: 'Mode: none' }).click()
  await page.getByRole('menuitemradio', { name: /^plan/ }).click()
  await page.getByRole('button', { name: 'Mode: plan' }).waitFor()
  const known = await daemon.call('GET', '/api/sessions/dial')
  assert.deepEqual([known.model, known.mode, known.settings], ['mock-2', 'plan', { pace_ms: 3 }])

  await page.getByRole('button', { name: 'Mock agent · mock-2' }).click()
  const pace = page.getByLabel('Pace ms')
  await eventually('it is three', async () => (await pace.inputValue()) === '3')
  await pace.fill('slowly')
  await page.keyboard.press('Enter')
  await page.getByText('must be a whole number').waitFor()
  await pace.fill('5')
  await page.keyboard.press('Enter')
  await pace.waitFor({ state: 'detached' })
  assert.deepEqual((await daemon.call('GET', '/api/sessions/dial')).settings, { pace_ms: 5 })
})

workbench('an archived session is brought back and resumed, or deleted for good after a question', async (daemon, openPage) => {
  for (const id of ['back', 'gone']) {
    await daemon.session(id)
    await daemon.say(id, 'echo once')
    await daemon.untilIdle(id)
    await daemon.call('DELETE', `/api/sessions/${id}`)
  }
  const page = await openPage()
  await page.getByRole('button', { name: 'Archived' }).click()
  await page.getByRole('button', { name: 'More for gone' }).click()
  await page.getByRole('menuitem', { name: 'Delete for good' }).click()
  const ask = page.getByRole('alertdialog')
  await ask.getByRole('button', { name: 'Keep' }).click()
  await daemon.call('GET', '/api/sessions/gone')
  await page.getByRole('button', { name: 'More for gone' }).click()
  await page.getByRole('menuitem', { name: 'Delete for good' }).click()
  await ask.getByRole('button', { name: 'Delete for good' }).click()
  await eventually('it is gone', () => daemon.call('GET', '/api/sessions/gone').then(() => false, () => true))

  await page.getByRole('button', { name: 'More for back' }).click()
  await page.getByRole('menuitem', { name: 'Unarchive and resume' }).click()
  await isShown(page, 'back')
  await composer(page).waitFor()
  await send(page, 'echo twice')
  await conversation(page).getByText('twice').last().waitFor()
})

workbench('the list goes on beyond its first page, and the search finds what is not in it', async (daemon, openPage) => {
  // Newest first, so the first one made is the last one listed.
  for (let n = 0; n < 120; n++) await daemon.session(`number-${String(n).padStart(3, '0')}`)
  const page = await openPage()
  const list = page.getByRole('navigation', { name: 'Sessions', exact: true })
  await list.getByText('number-119').waitFor()
  assert.equal(await list.getByText('number-003').count(), 0)
  await page.getByRole('searchbox', { name: 'Search sessions' }).fill('number-003')
  await list.getByText('number-003').waitFor()
  await page.getByRole('searchbox', { name: 'Search sessions' }).fill('')
  await list.getByRole('button', { name: 'Show older sessions' }).click()
  await list.getByText('number-001').waitFor()
  await none(list.getByRole('button', { name: 'Show older sessions' }))
})

workbench('the palette goes to sessions and does things, by keyboard', async (daemon, openPage) => {
  await daemon.session('loom')
  await daemon.session('spindle')
  const page = await openPage({ hash: session('loom') })
  await composer(page).waitFor()
  const palette = page.getByRole('dialog', { name: 'Command palette' })
  const search = palette.getByRole('combobox')
  await page.keyboard.press('Control+k')
  await eventually('the search has the focus', () => search.evaluate((element) => element === document.activeElement))
  await page.keyboard.type('spindle')
  await palette.getByRole('option', { name: /spindle/ }).waitFor()
  await page.keyboard.press('Enter')
  await isShown(page, 'spindle')
  await palette.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+k')
  await search.fill('inspector')
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Inspector', selected: true }).waitFor()
  await page.keyboard.press('Control+k')
  await palette.waitFor()
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })
})

workbench('fork makes a session that goes on from there, rollback takes turns back', async (daemon, openPage) => {
  await daemon.session('trunk')
  for (const word of ['first', 'second', 'third']) {
    await daemon.say('trunk', `echo ${word}`)
    await daemon.untilIdle('trunk')
  }
  const page = await openPage({ hash: session('trunk') })
  const answer = (word) => conversation(page).getByRole('article', { name: 'Agent' }).filter({ hasText: word })
  await answer('first').hover()
  await answer('first').getByRole('button', { name: /Fork here/ }).click()
  await page.waitForURL((url) => url.hash.startsWith('#/s/') && url.hash !== '#/s/trunk')
  await conversation(page).getByText('Forked from trunk').waitFor()
  await none(conversation(page).getByText('second'))
  await send(page, 'echo a branch')
  await conversation(page).getByText('a branch').last().waitFor()

  await visit(daemon, page, 'trunk')
  await answer('first').hover()
  await answer('first').getByRole('button', { name: /Roll back to here/ }).click()
  await answer('first').getByRole('button', { name: 'Take back 2 turns' }).click()
  await answer('third').waitFor({ state: 'detached' })
  await none(answer('second'))
  assert.equal(await answer('first').count(), 1)
})

workbench('a session is made with what a runtime takes besides, each as its kind', async (daemon, openPage) => {
  const page = await openPage()
  const made = []
  await page.route('**/api/sessions', (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    made.push(route.request().postDataJSON())
    return route.continue()
  })
  await page.route('**/api/agents', async (route) => {
    const answer = await (await route.fetch()).json()
    const choices = ['low', 'high']
    answer.agents.find(({ id }) => id === 'mock').params.push(
      { name: 'effort', takes: 'choice', choices }, { name: 'thorough', takes: 'flag' }, { name: 'add_dirs', takes: 'texts' }, { name: 'config', takes: 'object' },
    )
    return route.fulfill({ json: answer })
  })
  await page.goto(`${daemon.url}/#/new`)
  await page.getByRole('radio', { name: /Mock agent/ }).check()
  await page.getByText('More settings').click()
  await page.getByLabel('Pace ms').fill('slowly')
  await page.getByLabel('Effort').selectOption('high')
  await page.getByLabel('Thorough').selectOption('Yes')
  await page.getByLabel('Add dirs').fill('/a, /b')
  await page.getByRole('textbox', { name: 'Config' }).fill('{"key": [1]}')
  await page.getByRole('button', { name: 'Create session' }).click()
  await page.getByRole('main').getByRole('alert').waitFor()
  assert.deepEqual(made[0].params, { pace_ms: 'slowly', effort: 'high', thorough: true, add_dirs: '/a, /b', config: { key: [1] } })
  // And what the daemon knows is taken.
  await page.unroute('**/api/agents')
  await page.reload()
  await page.getByRole('radio', { name: /Mock agent/ }).check()
  await page.getByText('More settings').click()
  await page.getByLabel('Pace ms').fill('7')
  await page.getByRole('button', { name: 'Create session' }).click()
  await page.waitForURL(/#\/s\//)
  const { settings } = await daemon.call('GET', `/api/sessions/${decodeURIComponent(new URL(page.url()).hash.slice(4))}`)
  assert.deepEqual(settings, { pace_ms: 7 })
})
