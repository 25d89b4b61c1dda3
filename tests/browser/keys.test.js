// The keyboard alone: Escape closes and never destroys, hints name keys that work, arrows go from one thing to the next, the focus is never lost.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, isShown, none, send, session, visit, workbench } from './fixture.js'

const stopped = async (daemon, id) => {
  const { events } = await daemon.call('GET', `/api/sessions/${id}/events?limit=500`)
  return events.some(({ type, data }) => type === 'done' && data.outcome === 'stopped') || events.some(({ type }) => type === 'stop_requested')
}
const hangs = async (daemon, page, id) => {
  await composer(page).waitFor()
  await send(page, 'hang')
  await conversation(page).getByText('Waiting.').waitFor()
}
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim() ?? document.activeElement?.tagName)
const hasFocus = (page, name) => eventually(`${name} has the focus`, async () => (await focused(page)) === name)
const isActive = (locator) => eventually(`${locator} has the focus`, () => locator.evaluate((element) => element === document.activeElement))
const hint = (page) => page.getByText('Esc stops')
const list = (page) => page.getByRole('navigation', { name: 'Sessions', exact: true })

workbench('Escape closes what is open, one thing at a time, and the turn runs on', async (daemon, openPage) => {
  await daemon.session('calm')
  const page = await openPage({ hash: session('calm') })
  await hangs(daemon, page, 'calm')
  await send(page, 'echo later')
  await page.getByRole('button', { name: 'Edit: echo later' }).waitFor()
  const things = [
    ['the palette', () => page.keyboard.press('Control+k'), page.getByRole('dialog', { name: 'Command palette' })],
    ['the help', async () => (await conversation(page).focus(), page.keyboard.press('?')), page.getByRole('dialog', { name: 'Keyboard shortcuts' })],
    ['a menu', () => list(page).getByRole('button', { name: 'More for calm' }).click(), page.getByRole('menu')],
    ['the facts', () => page.getByRole('button', { name: /Mock agent/ }).click(), page.getByLabel('Model', { exact: true })],
    ['the title', () => page.getByRole('button', { name: 'calm', exact: true }).click(), page.getByLabel('Title', { exact: true })],
    ['a message that is edited', () => page.getByRole('button', { name: 'Edit: echo later' }).click(), page.getByLabel('Edit the message')],
  ]
  for (const [what, open, thing] of things) {
    await open()
    await thing.waitFor()
    await eventually(`with ${what} open the page does not say that Escape stops`, async () => (await hint(page).count()) === 0)
    await page.keyboard.press('Escape')
    await thing.waitFor({ state: 'detached' })
    assert.ok(await page.getByRole('button', { name: 'Stop', exact: true }).isEnabled(), `${what}: the turn runs on`)
  }
  // What stays open when one goes elsewhere is closed from there, too.
  const [, edit, field] = things.at(-1)
  await edit()
  await field.waitFor()
  for (const place of [conversation(page), composer(page)]) {
    await place.focus()
    await none(hint(page))
  }
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
  // Two at once: the upper one first.
  await list(page).getByRole('button', { name: 'More for calm' }).click()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor({ state: 'detached' })
  await page.getByRole('menu').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  // From a field and from a list it stops nothing either.
  await page.getByRole('searchbox', { name: 'Search sessions' }).focus()
  await page.keyboard.press('Escape')
  await list(page).getByRole('link', { name: 'calm' }).focus()
  await page.keyboard.press('Escape')
  await none(hint(page))
  assert.equal(await stopped(daemon, 'calm'), false)
  assert.equal((await daemon.call('GET', '/api/sessions/calm')).status, 'running')
  // From the conversation it does, and says so before.
  await conversation(page).focus()
  await hint(page).waitFor()
  await page.keyboard.press('Escape')
  await eventually('it is stopped', () => stopped(daemon, 'calm'))
})

workbench('a rename that is cancelled is not saved, in the header and in the list', async (daemon, openPage) => {
  await daemon.session('name')
  const page = await openPage({ hash: session('name') })
  await composer(page).waitFor()
  const changes = []
  page.on('request', (request) => request.method() === 'PATCH' && changes.push(request.postData()))
  const title = page.getByLabel('Title', { exact: true })
  await page.getByRole('button', { name: 'name', exact: true }).click()
  await title.fill('not this')
  await page.keyboard.press('Escape')
  await title.waitFor({ state: 'detached' })
  await hasFocus(page, 'name')
  await list(page).getByRole('button', { name: 'More for name' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await title.fill('nor this')
  await page.keyboard.press('Escape')
  await title.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'name', exact: true }).click()
  await title.fill('but this')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'but this' }).waitFor()
  assert.deepEqual(changes, [JSON.stringify({ title: 'but this' })])
})

workbench('the keys of an ask are named only where they work', async (daemon, openPage) => {
  await daemon.session('keys')
  const page = await openPage({ hash: session('keys') })
  await composer(page).focus()
  await daemon.say('keys', 'permission')
  const allow = page.getByRole('button', { name: /^Allow once/ })
  await allow.waitFor()
  const named = () => page.locator('.ask kbd:visible').count()
  // In the composer, Enter sends.
  await eventually('none is named', async () => (await named()) === 0)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^Reject/ }).focus()
  await eventually('none is named here either', async () => (await named()) === 0)
  await conversation(page).focus()
  await eventually('they are named', async () => (await named()) === 2)
  // A link takes Enter for itself.
  await list(page).getByRole('link', { name: 'keys' }).focus()
  await eventually('they are not named', async () => (await named()) === 0)
  await page.keyboard.press('Enter')
  await allow.waitFor()
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await eventually('they are named again', async () => (await named()) === 2)
  await page.keyboard.press('Backspace')
  await page.getByPlaceholder('Reason for the agent (optional)').fill('half a reason')
  await page.keyboard.press('Escape')
  await allow.waitFor()
  assert.equal((await daemon.call('GET', '/api/sessions/keys')).status, 'waiting')
  await conversation(page).focus()
  await page.keyboard.press('Enter')
  await conversation(page).getByText('Done, with your permission.').waitFor()
})

workbench('who comes to a session that waits can answer at once by key', async (daemon, openPage) => {
  await daemon.session('waits')
  await daemon.say('waits', 'permission')
  const page = await openPage()
  await list(page).getByRole('link', { name: /waits/ }).click()
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  await eventually('the keys are named', async () => (await page.locator('.ask kbd:visible').count()) === 2)
  await page.keyboard.press('Enter')
  await conversation(page).getByText('Done, with your permission.').waitFor()
})

workbench('after an answer the focus is where one goes on: at the next ask, or in the composer', async (daemon, openPage) => {
  await daemon.session('answers')
  const page = await openPage({ hash: session('answers') })
  await composer(page).waitFor()
  await daemon.say('answers', 'permission')
  await page.getByRole('button', { name: /Allow once/ }).press('Enter')
  await conversation(page).getByText('Done, with your permission.').waitFor()
  await eventually('the composer has it', async () => (await focused(page)) === 'Message')

  for (const id of ['inbox-a', 'inbox-b']) {
    await daemon.session(id)
    await daemon.say(id, 'permission')
  }
  await page.goto(`${daemon.url}/#/asks`)
  const asks = page.getByRole('main').getByRole('article')
  await eventually('two of them', async () => (await asks.count()) === 2)
  await asks.first().focus()
  await page.keyboard.press('ArrowDown')
  await isActive(asks.nth(1))
  await page.keyboard.press('ArrowUp')
  await isActive(asks.first())
  await asks.first().getByRole('button', { name: /Allow once/ }).press('Enter')
  await eventually('one is left', async () => (await asks.count()) === 1)
  await eventually('it has the focus', () => asks.first().evaluate((article) => article === document.activeElement))
  await asks.first().getByRole('button', { name: /Allow once/ }).press('Enter')
  await page.getByText('Nothing waits for you.').waitFor()
  await eventually('the page has it', () => page.getByRole('main').evaluate((main) => main === document.activeElement))
})

workbench('arrows go through menus, groups, tabs and what was searched for', async (daemon, openPage) => {
  for (const id of ['thread-one', 'thread-two', 'other']) await daemon.session(id)
  const page = await openPage({ hash: session('other') })
  await composer(page).waitFor()
  // The menu of a session: opened by key, walked through, closed, and the focus is back.
  const more = list(page).getByRole('button', { name: 'More for other' })
  await more.press('Enter')
  const item = (name) => page.getByRole('menuitem', { name })
  await hasFocus(page, 'Rename')
  await page.keyboard.press('ArrowDown')
  await isActive(item('Fork'))
  await page.keyboard.press('End')
  await hasFocus(page, 'Archive')
  await page.keyboard.press('ArrowDown')
  await hasFocus(page, 'Rename')
  await page.keyboard.press('Escape')
  await hasFocus(page, 'More for other')

  const search = page.getByRole('searchbox', { name: 'Search sessions' })
  await conversation(page).focus()
  await page.keyboard.press('/')
  await isActive(search)
  await page.keyboard.type('thread')
  await eventually('two are found', async () => (await list(page).getByRole('link', { name: /thread/ }).count()) === 2)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await eventually('the second has the focus', async () => /thread-one/.test(await focused(page)))
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await isActive(search)
  await page.keyboard.press('Enter')
  await isShown(page, 'thread-two')

  await hangs(daemon, page, 'thread-two')
  await page.getByRole('radio', { name: 'Queue' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('radio', { name: 'Steer', checked: true }).waitFor()
  await hasFocus(page, 'Steer')
  await page.keyboard.press('ArrowRight')
  await page.getByRole('radio', { name: 'Queue', checked: true }).waitFor()

  await page.keyboard.press('Control+.')
  await page.getByRole('tab', { name: 'Plan' }).focus()
  await page.keyboard.press('ArrowRight')
  await hasFocus(page, 'Files')
})

workbench('the first stop of the Tab key skips the lists', async (daemon, openPage) => {
  await daemon.session('skip')
  const page = await openPage()
  await list(page).getByRole('link', { name: 'skip' }).waitFor()
  await page.keyboard.press('Tab')
  const skip = page.getByRole('button', { name: /^Skip to/ })
  await hasFocus(page, 'Skip to the page')
  await eventually('it is seen', async () => (await skip.evaluate((element) => getComputedStyle(element).opacity)) === '1')
  await page.keyboard.press('Enter')
  await isActive(page.getByRole('main'))
  await visit(daemon, page, 'skip')
  await composer(page).waitFor()
  await skip.focus()
  await page.keyboard.press('Enter')
  await hasFocus(page, 'Conversation')
})

workbench('an edit of a message that waits gives the focus back, and is not cancelled by an input method', async (daemon, openPage) => {
  await daemon.session('edit')
  const page = await openPage({ hash: session('edit') })
  await hangs(daemon, page, 'edit')
  await send(page, 'echo later')
  const begin = page.getByRole('button', { name: /^Edit: echo/ })
  const field = page.getByLabel('Edit the message')
  const returned = (what) => eventually(what, () => begin.evaluate((button) => button === document.activeElement))
  for (const [what, end] of [
    ['Escape', () => page.keyboard.press('Escape')],
    ['Cancel', () => page.getByRole('button', { name: 'Cancel' }).press('Enter')],
    ['Save', () => page.getByRole('button', { name: 'Save' }).press('Enter')],
    ['a key that saves', () => page.keyboard.press('Control+Enter')],
  ]) {
    await begin.press('Enter')
    await field.fill('echo sooner')
    await end()
    await field.waitFor({ state: 'detached' })
    await returned(`the focus is back after ${what}`)
  }
  await begin.press('Enter')
  await field.fill('echo 織')
  await field.evaluate((element) => element.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true, cancelable: true })))
  assert.equal(await field.inputValue(), 'echo 織')
})

workbench('while something stands above the page, no key of an ask is named', async (daemon, openPage) => {
  await daemon.session('above')
  const page = await openPage({ hash: session('above') })
  await composer(page).waitFor()
  for (const [ask, button] of [['permission', /^Allow once/], ['question', /Silk/]]) {
    await daemon.say('above', ask)
    await page.getByRole('button', { name: button }).waitFor()
    await conversation(page).focus()
    const named = () => page.locator('.ask kbd:visible').count()
    await eventually('they are named', async () => (await named()) > 0)
    // A dialog takes the focus with it; a layer that does not is the edit of a message, left by mouse.
    await send(page, 'echo later')
    await page.getByRole('button', { name: 'Edit: echo later' }).click()
    await page.getByLabel('Edit the message').waitFor()
    await conversation(page).focus()
    await eventually('they would do nothing, and are not named', async () => (await named()) === 0)
    await page.keyboard.press('Escape')
    await eventually('they are named again', async () => (await named()) > 0)
    await page.getByRole('button', { name: 'Remove from the queue: echo later' }).click()
    await page.getByText('echo later').waitFor({ state: 'detached' })
    await daemon.call('POST', '/api/sessions/above/stop', {})
    await daemon.untilIdle('above')
  }
})

workbench('the keys of the column do what they say where there is little room', async (daemon, openPage) => {
  await daemon.session('room')
  const page = await openPage({ hash: session('room'), viewport: { width: 1024, height: 768 } })
  await composer(page).waitFor()
  const search = page.getByRole('searchbox', { name: 'Search sessions' })
  const panel = page.getByRole('complementary', { name: 'Panel' })
  await page.keyboard.press('Control+.')
  await panel.waitFor()
  await search.waitFor({ state: 'hidden' })
  await page.keyboard.press('Control+b')
  await search.waitFor()
  await panel.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+b')
  await search.waitFor({ state: 'hidden' })
  await conversation(page).focus()
  await page.keyboard.press('/')
  await eventually('the search has the focus', () => search.evaluate((element) => element === document.activeElement))
})

workbench('the inbox is walked through by key also where nothing is open to answer', async (daemon, openPage) => {
  await daemon.session('lost')
  await daemon.say('lost', 'permission')
  await eventually('it asks', async () => (await daemon.call('GET', '/api/asks')).asks.length === 1)
  await daemon.kill()
  await daemon.again()
  await daemon.session('asks')
  await daemon.say('asks', 'permission')
  const page = await openPage({ hash: '#/asks' })
  const articles = page.getByRole('main').getByRole('article')
  await eventually('both are there', async () => (await articles.count()) === 2)
  await articles.first().focus()
  await page.keyboard.press('ArrowDown')
  await isActive(articles.nth(1))
  await page.keyboard.press('ArrowUp')
  await isActive(articles.first())
  await articles.getByRole('button', { name: /Allow once/ }).press('Enter')
  await eventually('one is left', async () => (await articles.count()) === 1)
  await isActive(articles.first())
})

workbench('a key that is held does what it meant first, and nothing after that', async (daemon, openPage) => {
  await daemon.session('held')
  const page = await openPage({ hash: session('held') })
  const repeat = async (key) => {
    for (let n = 0; n < 3; n++) await page.keyboard.down(key)
    await page.keyboard.up(key)
  }
  await hangs(daemon, page, 'held')
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog', { name: 'Command palette' })
  await palette.waitFor()
  await page.keyboard.down('Escape')
  await palette.waitFor({ state: 'detached' })
  await hasFocus(page, 'Message')
  await repeat('Escape')
  assert.ok(await page.getByRole('button', { name: 'Stop', exact: true }).isEnabled(), 'the turn runs on')
  assert.equal(await stopped(daemon, 'held'), false)
  await daemon.call('POST', '/api/sessions/held/stop', {})
  await daemon.untilIdle('held')

  const said = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    // What the page measures it tells by itself, whenever that is.
    if (['POST', 'DELETE'].includes(request.method()) && pathname.startsWith('/api/sessions/')) said.push(pathname)
  })
  // Of two asks the first is answered, and nothing else happens: neither to the second nor to what stands in the composer.
  for (const [what, place] of [
    ['the key of an ask', conversation(page)],
    ['its button', page.getByRole('button', { name: /^Allow once/ }).first()],
  ]) {
    await composer(page).fill('echo not yet')
    await daemon.say('held', 'permissions')
    await eventually('both are there', async () => (await page.locator('.ask').count()) === 2)
    await place.focus()
    said.length = 0
    await page.keyboard.down('Enter')
    await eventually('one is left', async () => (await page.locator('.ask').count()) === 1)
    await hasFocus(page, 'Conversation')
    await repeat('Enter')
    assert.equal(said.length, 1, `${what}: ${said}`)
    await page.keyboard.press('Enter')
    await eventually('none is left', async () => (await page.locator('.ask').count()) === 0)
    await daemon.untilIdle('held')
  }

  await daemon.call('DELETE', '/api/sessions/held')
  await page.getByRole('button', { name: 'Archived' }).click()
  await list(page).getByRole('button', { name: 'More for held' }).click()
  said.length = 0
  await page.getByRole('menuitem', { name: 'Delete for good' }).focus()
  await page.keyboard.down('Enter')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete for good' }).waitFor()
  await repeat('Enter')
  await page.getByRole('alertdialog').waitFor()
  assert.deepEqual(said, [])
})

workbench('the focus is never lost: what takes a button away leads somewhere', async (daemon, openPage) => {
  await daemon.session('kept')
  const page = await openPage({ hash: session('kept') })
  await composer(page).waitFor()
  const isAt = (what, wanted) => eventually(`${what} leads to ${wanted}`, async () => wanted.test((await focused(page)) ?? ''))
  const button = (name) => page.getByRole('button', { name }).first()

  // An ask that is not decided after all.
  await daemon.say('kept', 'permission')
  await button(/^Reject/).press('Enter')
  await page.getByPlaceholder('Reason for the agent (optional)').waitFor()
  await page.keyboard.press('Escape')
  await isAt('Escape from the reason', /^Reject/)
  await page.keyboard.press('Enter')
  await button('Cancel').press('Enter')
  await isAt('Cancel of the reason', /^Reject/)
  await button('Edit').press('Enter')
  await page.getByLabel('Edited input').waitFor()
  await page.keyboard.press('Escape')
  await isAt('Escape from the edit', /^Edit$/)
  await conversation(page).focus()
  await page.keyboard.press('Backspace')
  await page.getByPlaceholder('Reason for the agent (optional)').waitFor()
  await page.keyboard.press('Escape')
  await isAt('Escape from a reason that a key began', /^Conversation$/)
  await page.keyboard.press('Enter')
  await daemon.untilIdle('kept')

  // Several questions, one after the other.
  await daemon.say('kept', 'question')
  await button(/Silk/).press('Enter')
  await isAt('an answer', /Indigo|Madder|Weld/)
  await button('Back').press('Enter')
  await isAt('Back', /Wool|Silk|Linen/)
  await button('Next').press('Enter')
  await isAt('Next', /Indigo|Madder|Weld/)
  await button(/Indigo/).press('Enter')
  await button(/^Answer$/).press('Enter')
  await daemon.untilIdle('kept')
  await isAt('the last answer', /^Message$/)

  // What waits.
  await hangs(daemon, page, 'kept')
  for (const words of ['one', 'two', 'three']) await send(page, `echo ${words}`)
  await button('Send earlier: echo three').press('Enter')
  const waiting = page.getByRole('list', { name: 'Messages that wait' }).getByRole('listitem')
  await eventually('it is the second', async () => /three/.test(await waiting.nth(1).innerText()))
  await isAt('Send earlier', /^Send earlier: echo three$/)
  await page.keyboard.press('Enter')
  await isAt('Send earlier to the front', /^Edit: echo three$/)
  await button('Remove from the queue: echo three').press('Enter')
  await isAt('Remove', /^Remove from the queue: echo one$/)
  await page.keyboard.press('Enter')
  await isAt('Remove', /^Remove from the queue: echo two$/)
  await button(/^Stop$/).press('Enter')
  await button('Continue').waitFor()
  await isAt('Stop', /^Message$/)
  await button('Continue').press('Enter')
  await isAt('Continue', /^Message$/)
  await daemon.untilIdle('kept')
  await send(page, 'hang')
  await button(/^Stop$/).waitFor()
  await send(page, 'echo last')
  await button('Remove from the queue: echo last').press('Enter')
  await isAt('removing the last one', /^Message$/)
  await button(/^Stop$/).press('Enter')
  await daemon.untilIdle('kept')

  // The end of a turn.
  await button('Roll back to here').press('Enter')
  await isAt('Roll back', /^Keep$/)
  await page.keyboard.press('Enter')
  await isAt('Keep', /^Roll back to here$/)
  await page.keyboard.press('Enter')
  await isAt('Roll back', /^Keep$/)
  await page.keyboard.press('Escape')
  await isAt('Escape', /^Roll back to here$/)
  await page.keyboard.press('Enter')
  await button(/^Take back/).press('Enter')
  await isAt('Take back', /^(Message|Roll back to here)$/)

  // The way back to the end, and a failure that is tried again.
  await daemon.say('kept', `echo ${'over, under\n\n'.repeat(60)}`)
  await daemon.untilIdle('kept')
  await conversation(page).focus()
  await page.keyboard.press('Home')
  await button('Jump to newest').press('Enter')
  await isAt('Jump to newest', /^Conversation$/)
  await daemon.say('kept', 'crash')
  await button('Try again').press('Enter')
  await isAt('Try again', /^Message$/)
  await eventually('it was tried', async () => (await daemon.call('GET', '/api/sessions/kept/events?types=error&limit=500')).events.length > 1)
  await daemon.untilIdle('kept')

  // The end of a session.
  await daemon.say('kept', 'end')
  await button('Resume').press('Enter')
  await isAt('Resume', /^Message$/)
})

workbench('the palette names no key that would only be typed there', async (daemon, openPage) => {
  const page = await openPage()
  await page.keyboard.press('Control+k')
  const option = page.getByRole('option', { name: /Keyboard shortcuts/ })
  await page.getByRole('dialog').getByRole('combobox').fill('keyboard')
  await option.waitFor()
  await eventually('it has only its name', async () => (await option.innerText()).trim() === 'Keyboard shortcuts')
})
