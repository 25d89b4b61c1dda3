// What was typed is never lost: drafts, attachments, and messages that could not be sent.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, isShown, none, send, session, visit, workbench } from './fixture.js'

const said = async (daemon, id) => {
  const { events } = await daemon.call('GET', `/api/sessions/${id}/events?limit=500`)
  return events.filter(({ type }) => type === 'user_message').map(({ data }) => data)
}
const attach = async (page, name, text) => {
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach files' }).click()
  await (await chooser).setFiles([{ name, mimeType: 'text/plain', buffer: Buffer.from(text) }])
  await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
}
/** A second window of the same browser. */
const another = async (page, url) => {
  const next = await page.context().newPage()
  await next.goto(url)
  await composer(next).waitFor()
  return next
}
const holds = (page, text) => eventually(`the composer holds ${JSON.stringify(text)}`, async () => (await composer(page).inputValue()) === text)

workbench('a message that could not be sent survives a reload, with what was attached, and is sent once', async (daemon, openPage) => {
  await daemon.session('kept')
  const page = await openPage({ hash: session('kept') })
  await composer(page).waitFor()
  const tried = []
  await page.route('**/api/sessions/kept/message', (route) => {
    tried.push(route.request().postDataJSON().message_id)
    return route.abort()
  })
  await attach(page, 'notes.txt', 'over, under')
  await send(page, 'look at this')
  await page.getByRole('button', { name: 'Send again' }).waitFor()
  // While the daemon is away, a reload shows it still.
  await page.reload()
  await conversation(page).getByText('look at this').waitFor()
  await page.getByRole('button', { name: 'Send again' }).waitFor()
  await page.unroute('**/api/sessions/kept/message')
  await page.reload()
  await eventually('it is sent', async () => (await said(daemon, 'kept')).length > 0)
  await daemon.untilIdle('kept')
  const messages = await said(daemon, 'kept')
  assert.deepEqual(messages.map(({ message_id }) => message_id), [tried[0]])
  assert.deepEqual(messages[0].content.map(({ type }) => type), ['text', 'text'])
  assert.match(JSON.stringify(messages[0].content), /over, under/)
  await page.reload()
  await conversation(page).getByText('look at this').first().waitFor()
  assert.equal(await conversation(page).getByRole('article', { name: 'You' }).count(), 1)
  assert.equal((await said(daemon, 'kept')).length, 1)
})

workbench('what was sent while the daemon was away is sent when it is back, in order and by itself', async (daemon, openPage) => {
  await daemon.session('away')
  await daemon.session('aside')
  const page = await openPage({ hash: session('away') })
  await composer(page).waitFor()
  await daemon.kill()
  await send(page, 'echo first')
  await send(page, 'echo second')
  await page.getByRole('button', { name: 'Send again' }).first().waitFor()
  // Somebody who has gone on to another session does not have to come back for it.
  await page.evaluate(() => (location.hash = '#/s/aside'))
  await daemon.again()
  await eventually('both are sent', async () => (await said(daemon, 'away')).length === 2)
  assert.deepEqual((await said(daemon, 'away')).map(({ content }) => content[0].text), ['echo first', 'echo second'])
  await page.evaluate(() => (location.hash = '#/s/away'))
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('second').waitFor()
  assert.equal(await conversation(page).getByRole('article', { name: 'You' }).count(), 2)
})

workbench('what is sent to a session that could not be opened yet is shown, kept and sent', async (daemon, openPage) => {
  for (const id of ['here', 'unseen']) await daemon.session(id)
  const page = await openPage({ hash: session('here') })
  await page.getByRole('navigation', { name: 'Sessions', exact: true }).getByRole('link', { name: 'unseen' }).waitFor()
  await daemon.kill()
  await visit(daemon, page, 'unseen')
  await send(page, 'echo to nobody yet')
  await conversation(page).getByRole('article', { name: 'You' }).getByText('echo to nobody yet').waitFor()
  await page.getByRole('button', { name: 'Send again' }).waitFor()
  await daemon.again()
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('to nobody yet').waitFor()
  assert.deepEqual((await said(daemon, 'unseen')).map(({ content }) => content[0].text), ['echo to nobody yet'])
})

workbench('what is taken back comes back whole, and is not sent behind a person’s back', async (daemon, openPage) => {
  await daemon.session('back')
  const page = await openPage({ hash: session('back') })
  await composer(page).waitFor()
  await page.route('**/api/sessions/back/message', (route) => route.abort())
  await attach(page, 'notes.txt', 'over, under')
  await send(page, 'not yet')
  await composer(page).fill('something newer')
  await page.getByRole('button', { name: 'Back to the composer' }).click()
  await holds(page, 'not yet\n\nsomething newer')
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
  await page.unroute('**/api/sessions/back/message')
  await page.reload()
  await holds(page, 'not yet\n\nsomething newer')
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
  await none(page.getByRole('button', { name: 'Send again' }))
  assert.deepEqual(await said(daemon, 'back'), [])
})

workbench('a draft and its attachments survive a reload; two windows keep a draft each; what a closed one leaves is taken over', async (daemon, openPage) => {
  await daemon.session('drafts')
  const left = await openPage({ hash: session('drafts') })
  await composer(left).fill('from the left')
  await attach(left, 'left.txt', 'left')
  const url = `${daemon.url}/${session('drafts')}`
  const right = await another(left, url)
  await composer(right).fill('from the right')
  await attach(right, 'right.txt', 'right')
  for (const [page, side, other] of [[left, 'left', 'right'], [right, 'right', 'left']]) {
    await page.reload()
    await holds(page, `from the ${side}`)
    await page.getByRole('button', { name: `Remove ${side}.txt` }).waitFor()
    await none(page.getByRole('button', { name: `Remove ${other}.txt` }))
  }
  await right.close()
  const third = await another(left, url)
  await holds(third, 'from the right')
  await third.getByRole('button', { name: 'Remove right.txt' }).waitFor()
  await holds(left, 'from the left')
  // What was sent is not a draft any more.
  await send(left, 'echo done')
  await eventually('it is empty', async () => (await composer(left).inputValue()) === '')
  await conversation(left).getByText('done').first().waitFor()
  await left.reload()
  await composer(left).waitFor()
  await conversation(left).getByText('done').first().waitFor()
  await holds(left, '')
})

/** Whatever others say to this window, it has no time for it; as one has that its browser has put to sleep. */
const keepBusy = (page) =>
  page.evaluate(() => {
    const end = performance.now() + 5_000
    setTimeout(() => {
      while (performance.now() < end);
    })
  })

workbench('a window that does not answer keeps its draft, and one that was duplicated goes on by itself', async (daemon, openPage) => {
  await daemon.session('asleep')
  const left = await openPage({ hash: session('asleep') })
  await composer(left).fill('from the left')
  await keepBusy(left)
  const right = await another(left, `${daemon.url}/${session('asleep')}`)
  await isShown(right, 'asleep')
  await composer(right).fill('from the right')
  await holds(left, 'from the left')
  for (const [page, side] of [[left, 'left'], [right, 'right']]) {
    await page.reload()
    await holds(page, `from the ${side}`)
  }
  // A window that opens another gives it all that it remembers.
  const [copy] = await Promise.all([left.waitForEvent('popup'), left.evaluate(() => void window.open(location.href))])
  await holds(copy, 'from the left')
  const ids = (page) => page.evaluate(() => sessionStorage['turnloom.draft.asleep'])
  await eventually('they are two', async () => (await ids(copy)) !== (await ids(left)))
  await composer(copy).fill('from the copy')
  for (const [page, side] of [[left, 'left'], [copy, 'copy'], [right, 'right']]) {
    await page.reload()
    await holds(page, `from the ${side}`)
  }
})

workbench('where the browser has no locks, windows ask each other whose a draft is', async (daemon, openPage) => {
  await daemon.session('unlocked')
  const first = await openPage()
  await first.context().addInitScript(() => delete Navigator.prototype.locks)
  const url = `${daemon.url}/${session('unlocked')}`
  const [left, right] = [await another(first, url), await another(first, url)]
  assert.equal(await left.evaluate(() => 'locks' in navigator), false)
  await composer(left).fill('from the left')
  await composer(right).fill('from the right')
  for (const [page, side] of [[left, 'left'], [right, 'right']]) {
    await page.reload()
    await holds(page, `from the ${side}`)
  }
  await right.close()
  await holds(await another(first, url), 'from the right')
  await holds(left, 'from the left')
})

workbench('looking at what was sent before costs no draft', async (daemon, openPage) => {
  await daemon.session('recall')
  await daemon.say('recall', 'echo once')
  await daemon.untilIdle('recall')
  const page = await openPage({ hash: session('recall') })
  await conversation(page).getByText('once').first().waitFor()
  await composer(page).focus()
  await page.keyboard.press('ArrowUp')
  await holds(page, 'echo once')
  await page.keyboard.press('ArrowDown')
  await holds(page, '')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Backspace')
  await holds(page, 'echo onc')
  await page.reload()
  await holds(page, 'echo onc')
})
