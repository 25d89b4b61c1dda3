// Components with a page of their own, in the workbench: what they are told, what they may ask for, and that what was typed in them stays.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, none, session, workbench } from './fixture.js'
import { GAUGE, install, page as odd, show } from './ownViews.js'

/** The page inside of a component's frame. */
const inside = (region) => region.locator('iframe').contentFrame()
const sessionWith = async (daemon, id) => {
  await daemon.session(id)
  await daemon.say(id, 'echo ready')
  await daemon.untilIdle(id)
}

workbench('a page of its own is told what it shows, and what is done in it is told', async (daemon, openPage) => {
  await install(daemon, 'gauge', GAUGE)
  await sessionWith(daemon, 'views')
  const page = await openPage({ hash: session('views'), colorScheme: 'dark' })
  await composer(page).waitFor()
  await show(daemon, 'views', 'g', 'gauge', 'chat', { title: 'Pressure', value: 3 })
  const card = conversation(page).getByRole('region', { name: 'Pressure' })
  const view = inside(card)
  await view.getByText('value 3, ready').waitFor()
  await view.getByText('chat dark inline maxHeight,width').waitFor()
  await eventually('it is as tall as it says', async () => Math.round((await card.locator('iframe').boundingBox()).height) === 180)
  await view.getByRole('button', { name: 'Grow' }).click()
  await eventually('it is taller', async () => Math.round((await card.locator('iframe').boundingBox()).height) === 333)

  // What was typed stays when the props change, and when it moves.
  await view.getByLabel('Note').fill('do not forget')
  await show(daemon, 'views', 'g', 'gauge', 'chat', { value: 4 }, { merge: true })
  await view.getByText('value 4, ready').waitFor()
  assert.equal(await view.getByLabel('Note').inputValue(), 'do not forget')

  await view.getByRole('button', { name: 'Turn', exact: true }).click()
  await view.getByText(/^turn .*"accepted":true,"seq":\d+/).waitFor()
  const called = async () => (await daemon.events('views')).filter(({ type }) => type === 'component_callback').map(({ data }) => [data.action, data.payload])
  assert.deepEqual(await called(), [['turn', { by: 2 }]])
  await view.getByRole('button', { name: 'Context' }).click()
  await view.getByText(/^context \{\}/).waitFor()
  assert.deepEqual((await called())[1][0], 'context')
  await view.getByRole('button', { name: 'State' }).click()
  await view.getByText(/^state .*"structuredContent"/).waitFor()
  await view.getByRole('button', { name: 'Resolve' }).click()
  await view.getByText(/there is no tool resolve/).waitFor()

  // Words and links go nowhere before the person says so.
  await view.getByRole('button', { name: 'Bad link' }).click()
  await view.getByText('bad {"isError":true}').waitFor()
  await view.getByRole('button', { name: 'Link', exact: true }).click()
  const link = card.getByRole('group', { name: 'A link from Pressure' }).getByRole('link')
  assert.deepEqual([await link.innerText(), await link.getAttribute('rel'), await link.getAttribute('target')], ['https://example.org/a/long/way?to=go', 'noopener noreferrer', '_blank'])
  await card.getByRole('button', { name: 'Put away' }).click()
  const sent = []
  await page.route('**/api/sessions/views/message', (route) => {
    sent.push(route.request().postDataJSON())
    return route.fulfill({ json: { accepted: true, message_id: 'm' } })
  })
  await view.getByRole('button', { name: 'Message' }).click()
  const message = card.getByRole('group', { name: 'A message from Pressure' })
  await message.getByText('Turn it down.').waitFor()
  await message.getByRole('button', { name: 'Do not send' }).click()
  await view.getByText('message {"isError":true}').waitFor()
  assert.deepEqual(sent, [])
  await view.getByRole('button', { name: 'Message' }).click()
  await message.getByRole('button', { name: 'Send', exact: true }).click()
  await view.getByText('message {}').waitFor()
  assert.deepEqual([sent[0].message, sent[0].origin], ['Turn it down.', 'component'])

  await view.getByRole('button', { name: 'End' }).click()
  await card.getByText('Pressure has closed itself.').waitFor()
  await card.getByRole('button', { name: 'Load it again' }).click()
  await view.getByText('value 4, ready').waitFor()
})

workbench('a page moves with its component, and nothing in it is lost', async (daemon, openPage) => {
  await install(daemon, 'gauge', GAUGE)
  await sessionWith(daemon, 'moves')
  const page = await openPage({ hash: session('moves'), viewport: { width: 1440, height: 900 } })
  await composer(page).waitFor()
  await show(daemon, 'moves', 'g', 'gauge', 'chat', { title: 'Pressure', value: 3 })
  const card = conversation(page).getByRole('region', { name: 'Pressure' })
  await inside(card).getByLabel('Note').fill('do not forget')
  await inside(card).getByRole('button', { name: 'Full' }).click()
  const canvas = page.getByRole('region', { name: 'Canvas' })
  await inside(canvas).getByText('canvas light fullscreen height,width').waitFor()
  assert.equal(await inside(canvas).getByLabel('Note').inputValue(), 'do not forget')
  await card.getByText('It is shown on the canvas.').waitFor()
  await eventually('the conversation is still drawn', () => page.evaluate(() => {
    const { left, top } = document.querySelector('[role=log] article').getBoundingClientRect()
    return document.elementFromPoint(left + 20, top + 10)?.closest('article') != null
  }))
  await canvas.getByRole('button', { name: 'Close the canvas' }).click()
  await inside(card).getByText('chat light inline').waitFor()
  assert.equal(await inside(card).getByLabel('Note').inputValue(), 'do not forget')

  // The agent moves it, and the person comes and goes.
  await show(daemon, 'moves', 'g', 'gauge', 'panel', {}, { merge: true })
  await conversation(page).getByText('stands in the panel').waitFor()
  await conversation(page).getByRole('button', { name: 'Show', exact: true }).click()
  const panel = page.getByRole('complementary', { name: 'Panel' })
  await inside(panel).getByText('panel light inline').waitFor()
  assert.equal(await inside(panel).getByLabel('Note').inputValue(), 'do not forget')
  await panel.getByRole('tab', { name: 'Files' }).click()
  await none(panel.locator('iframe'))
  await panel.getByRole('tab', { name: 'Pressure' }).click()
  await eventually('it is still there', async () => (await inside(panel).getByLabel('Note').inputValue()) === 'do not forget')

  // The same id later is another one.
  await daemon.call('POST', '/api/sessions/moves/emit', { events: [{ type: 'component_remove', data: { component_id: 'g' } }] })
  await none(panel.locator('iframe'))
  await show(daemon, 'moves', 'g', 'gauge', 'panel', { title: 'Pressure', value: 9 })
  await panel.getByRole('tab', { name: 'Pressure' }).click()
  await inside(panel).getByText('value 9, ready').waitFor()
  assert.equal(await inside(panel).getByLabel('Note').inputValue(), '')
})

workbench('a folder that is read again reaches pages that are open', async (daemon, openPage) => {
  await sessionWith(daemon, 'again')
  const page = await openPage({ hash: session('again') })
  await composer(page).waitFor()
  await show(daemon, 'again', 'g', 'gauge', 'chat', { title: 'Pressure', value: 3 })
  const card = conversation(page).getByRole('region', { name: 'Pressure' })
  await card.getByText('This page does not know how to draw gauge.').waitFor()
  await install(daemon, 'gauge', GAUGE)
  const view = inside(card)
  await view.getByText('value 3, ready').waitFor()
  // What nobody touched is new at once; what somebody wrote in is theirs.
  const newer = (words) => ({ ...GAUGE, 'gauge.js': GAUGE['gauge.js'].replace("'value '", `'${words} '`) })
  await install(daemon, 'gauge', newer('second'))
  await view.getByText('second 3, ready').waitFor()
  await view.getByLabel('Note').click()
  await view.getByLabel('Note').fill('mine')
  await install(daemon, 'gauge', newer('third'))
  await card.getByText('This page has a newer version.').waitFor()
  assert.equal(await view.getByLabel('Note').inputValue(), 'mine')
  await card.getByRole('button', { name: 'Load it' }).click()
  await view.getByText('third 3, ready').waitFor()
})

workbench('a page that hangs, floods or leaves is ended, and one line says so', async (daemon, openPage) => {
  await install(daemon, 'floods', odd(`begin().then(() => { for (let n = 0; n < 1000; n++) say('notifications/message', { n }) })`))
  await install(daemon, 'huge', odd(`begin().then(() => say('notifications/message', { text: 'x'.repeat(3_000_000) }))`))
  await install(daemon, 'leaves', odd(`begin().then(() => (location.href = 'index.html?again'))`))
  await install(daemon, 'silent', odd(`0`))
  await install(daemon, 'loops', odd(`begin().then(() => setTimeout(() => { for (;;); }, 100))`))
  await install(daemon, 'tall', odd(`begin().then(() => { for (const height of [1e9, -5, NaN, Infinity, 'x']) say('ui/notifications/size-changed', { width: 1e9, height }); document.getElementById('p').textContent = 'tall' })`))
  await sessionWith(daemon, 'bad')
  const page = await openPage({ hash: session('bad') })
  await composer(page).waitFor()
  const card = (name) => conversation(page).getByRole('region', { name, exact: true })
  const shown = async (name) => {
    await show(daemon, 'bad', name, name, 'chat', { title: name, at: 1 })
    await card(name).scrollIntoViewIfNeeded()
  }
  await shown('tall')
  await inside(card('tall')).getByText('tall').waitFor()
  const box = await card('tall').locator('iframe').boundingBox()
  assert.ok(box.height <= 800 && box.width < 1000, `${box.width} by ${box.height}`)

  const ends = { floods: /It says more than can be read/, huge: /It says more than can be read/, leaves: /It went to another page/, silent: /It does not say anything/ }
  for (const [name, words] of Object.entries(ends)) {
    await shown(name)
    await card(name).getByText(words).waitFor()
    await none(card(name).locator('iframe'))
  }

  // Pages of components share a process with each other, and with nobody else: what hangs with them is ended too, and then all is well again.
  await shown('loops')
  await card('loops').getByText(/It does not answer any more/).waitFor()
  await composer(page).fill('still here')
  assert.equal(await composer(page).inputValue(), 'still here')
  await card('tall').getByText(/It does not answer any more/).waitFor()
  await card('tall').getByRole('button', { name: 'Load it again' }).click()
  await inside(card('tall')).getByText('tall').waitFor()
})
