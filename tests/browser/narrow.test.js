// Little room: phones, halves of a screen, large zoom. Nothing is wider than the page, everything can be reached, nothing covers what matters.

import assert from 'node:assert/strict'

import { allIsInside, composer, conversation, eventually, isShown, none, send, session, visit, workbench } from './fixture.js'
import { Daemon } from './support.js'

const LONG = 'Averylongtitlewithoutanyspaceinit'.repeat(12)
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

const box = (locator) => locator.boundingBox()
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

workbench('on the narrowest phone long titles widen nothing, and everything can be reached', async (daemon, openPage) => {
  await daemon.session('long', { title: LONG })
  await daemon.session('other', { title: `Other ${LONG}` })
  await daemon.say('other', 'permission')
  const page = await openPage({ hash: session('long'), ...PHONE })
  await composer(page).waitFor()
  const holds = (where) => allIsInside(page, where)
  await holds('a session')
  await send(page, 'hang')
  await page.getByRole('radio', { name: 'Steer' }).waitFor()
  await send(page, `echo ${LONG}`)
  await page.getByLabel('Messages that wait').waitFor()
  await holds('a running session')
  await page.getByRole('button', { name: 'Stop', exact: true }).tap()
  await visit(daemon, page, 'other', `Other ${LONG}`)
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  await holds('an ask, with a second tab')
  await page.getByRole('button', { name: /^Panel/ }).tap()
  await page.getByRole('tab', { name: 'Inspector' }).tap()
  await holds('the panel')
  await page.getByRole('link', { name: /Needs you/ }).waitFor()
  await page.getByRole('button', { name: 'Close the panel' }).tap()
  await page.getByRole('button', { name: /Mock agent/ }).tap()
  await page.getByLabel('Model', { exact: true }).waitFor()
  await holds('the facts')
  for (const [hash, wait] of [['#/', 'Go on with'], ['#/sessions', 'Today'], ['#/new', 'Create session'], ['#/asks', 'Allow once']]) {
    await page.goto(`${daemon.url}/${hash}`)
    await page.getByText(wait).first().waitFor()
    await holds(hash)
  }
  await page.goto(`${daemon.url}/#/sessions`)
  await page.getByRole('button', { name: 'Command palette' }).tap()
  await page.getByRole('option').first().waitFor()
  await holds('the palette')
})

workbench('on the narrowest phone all that an agent does and asks can be read and answered', async (daemon, openPage) => {
  await daemon.session('demo')
  const page = await openPage({ hash: session('demo'), ...PHONE })
  await composer(page).waitFor()
  const holds = (where) => allIsInside(page, where)
  await send(page, 'demo')
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  await holds('a permission')
  await page.getByRole('button', { name: /^Reject/ }).tap()
  await holds('a rejection')
  await page.getByRole('button', { name: 'Cancel' }).tap()
  await page.getByRole('button', { name: /Allow once/ }).tap()
  await page.getByRole('button', { name: /Silk/ }).waitFor()
  await holds('a question')
  await page.getByRole('button', { name: /Silk/ }).tap()
  await page.getByRole('button', { name: /Indigo/ }).tap()
  await page.getByRole('button', { name: 'Answer', exact: true }).tap()
  await conversation(page).getByText('That was all.').waitFor()
  await daemon.untilIdle('demo')
  await conversation(page).evaluate((log) => log.querySelectorAll('button[aria-expanded=false]').forEach((row) => row.click()))
  await holds('everything open')
  await send(page, 'echo one more')
  await daemon.untilIdle('demo')
  await page.getByRole('button', { name: 'Roll back to here' }).first().tap()
  await holds('a question before taking back')
})

workbench('on the narrowest phone whatever opens above the page can be reached', async (daemon, openPage) => {
  await daemon.session('long', { title: LONG })
  for (let n = 0; n < 14; n++) await daemon.session(`more-${n}`)
  const page = await openPage({ hash: '#/sessions', ...PHONE })
  const holds = (where) => allIsInside(page, where)
  const rows = page.getByRole('button', { name: /^More for/ })
  await eventually('all are listed', async () => (await rows.count()) === 16)
  for (const [where, row] of [['the first', rows.first()], ['the last', rows.last()]]) {
    await row.tap()
    await page.getByRole('menuitem', { name: 'Archive' }).scrollIntoViewIfNeeded()
    await holds(`the menu of ${where} session`)
    await page.keyboard.press('Escape')
  }
  await daemon.call('DELETE', '/api/sessions/long')
  await page.getByRole('button', { name: 'Archived' }).tap()
  await page.getByRole('button', { name: `More for ${LONG}` }).tap()
  await page.getByRole('menuitem', { name: 'Delete for good' }).tap()
  await page.getByRole('alertdialog').waitFor()
  await holds('the question before a session is deleted')
  await page.getByRole('button', { name: 'Keep' }).tap()
  await page.getByRole('button', { name: 'Command palette' }).tap()
  await page.getByRole('combobox', { name: 'Search commands' }).fill('keyboard')
  await page.getByRole('option', { name: /Keyboard shortcuts/ }).tap()
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await holds('the help')
  await page.keyboard.press('Escape')

  await visit(daemon, page, 'more-1')
  await composer(page).waitFor()
  await send(page, 'background forever')
  await page.getByRole('button', { name: '1 task in the background' }).tap()
  await page.getByRole('group', { name: 'In the background' }).waitFor()
  await holds('the background')

  const update = (surface, name, props) => ['component_update', { component_id: `c-${surface}`, name, surface, props, merge: false }]
  await daemon.import('above', Daemon.turn('above', [
    update('overlay', 'markdown', { title: LONG.slice(0, 200), text: 'Above.\n\n'.repeat(60), actions: [{ action: 'go', label: 'Go' }] }),
    update('canvas', 'table', { title: 'Cloth', columns: Array.from({ length: 12 }, (_, at) => `thread ${at}`), rows: [Array(12).fill('warp')] }),
  ]))
  await visit(daemon, page, 'above')
  const overlay = page.getByRole('dialog', { name: LONG.slice(0, 200) })
  await overlay.waitFor()
  await holds('a component above the page')
  await overlay.getByRole('button', { name: /away$/ }).tap()
  await page.getByRole('button', { name: /^Show A/ }).waitFor()
  await holds('a component that was put away')
  await page.getByRole('button', { name: /^Shown/ }).tap()
  await page.getByRole('cell', { name: 'warp' }).first().waitFor()
  await holds('the canvas')

  await visit(daemon, page, 'more-2')
  await composer(page).waitFor()
  await send(page, 'image')
  await conversation(page).getByRole('button', { name: /^Enlarge/ }).tap()
  await page.getByRole('dialog').getByRole('img').waitFor()
  await holds('a picture')
  await page.getByRole('dialog').getByRole('button', { name: /close/i }).first().tap()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

for (const [what, viewport] of [['a keyboard below it', { width: 360, height: 300 }], ['the phone on its side', { width: 740, height: 360 }], ['a low window', { width: 1280, height: 360 }]]) {
  workbench(`what a session works with can be changed with ${what}`, async (daemon, openPage) => {
    await daemon.session('facts')
    const page = await openPage({ viewport })
    // Real agents have many settings.
    await page.route('**/api/agents', async (route) => {
      const response = await route.fetch()
      const found = await response.json()
      for (const agent of found.agents) agent.settings = Array.from({ length: 7 }, (_, at) => ({ name: `setting_${at}`, takes: 'text' }))
      await route.fulfill({ response, json: found })
    })
    await page.goto(`${daemon.url}/${session('facts')}`)
    await page.reload()
    await composer(page).waitFor()
    await page.getByRole('button', { name: /Mock agent/ }).click()
    await page.getByLabel('Model', { exact: true }).fill('loom-2')
    await page.getByLabel('Setting 6').waitFor()
    await allIsInside(page, 'the settings')
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByRole('button', { name: /loom-2/ }).waitFor()
  })
}

workbench('a phone has one title bar, with the open sessions to choose from', async (daemon, openPage) => {
  await daemon.session('left', { title: 'Left hand' })
  await daemon.session('right', { title: 'Right hand' })
  const page = await openPage({ hash: session('left'), ...PHONE })
  await composer(page).waitFor()
  await visit(daemon, page, 'right', 'Right hand')
  const choice = page.getByRole('combobox', { name: 'Open sessions' })
  await choice.waitFor()
  await eventually('the conversation begins under one bar', async () => (await box(conversation(page)))?.y <= 56)
  await none(page.getByRole('heading', { name: 'Right hand' }))
  await eventually('it is in that bar', async () => (await box(choice)).y + (await box(choice)).height <= 56)
})

workbench('a phone opens a session, not the panel that was open before', async (daemon, openPage) => {
  await daemon.session('panel')
  const page = await openPage({ hash: session('panel'), ...PHONE })
  await page.getByRole('button', { name: 'Panel', exact: true }).tap()
  await page.getByRole('complementary', { name: 'Panel' }).waitFor()
  await page.reload()
  await composer(page).waitFor()
  await none(page.getByRole('complementary', { name: 'Panel' }))
  await page.getByRole('button', { name: 'Panel', exact: true }).tap()
  await page.getByRole('complementary', { name: 'Panel' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('complementary', { name: 'Panel' }).waitFor({ state: 'detached' })
})

for (const width of [768, 1024]) {
  workbench(`at ${width} px the panel covers neither an ask nor the composer`, async (daemon, openPage) => {
    await daemon.session('ask')
    await daemon.say('ask', 'permission')
    const page = await openPage({ hash: session('ask'), viewport: { width, height: 768 } })
    await page.getByRole('button', { name: /Allow once/ }).waitFor()
    for (const tab of ['Plan', 'Files', 'Inspector']) {
      if (tab === 'Plan') await page.getByRole('button', { name: 'Panel', exact: true }).click()
      await page.getByRole('tab', { name: tab }).click()
      const panel = page.getByRole('complementary', { name: 'Panel' })
      for (const [name, thing] of [['the composer', composer(page)], ['the ask', page.locator('.ask')], ['Send', page.getByRole('button', { name: /^(Send|Queue)$/ }).last()]])
        await eventually(`${tab} does not cover ${name}`, async () => !overlap(await box(thing), await box(panel)))
      await eventually(`${tab} leaves room for the ask`, async () => (await box(page.locator('.ask'))).width > 280)
      await allIsInside(page, tab)
    }
    await page.locator('.ask').getByRole('button', { name: /Allow once/ }).click()
    await conversation(page).getByText('Done, with your permission.').waitFor()
  })
}

for (const [what, viewport] of [['1280 × 800', { width: 640, height: 400 }], ['1440 × 900', { width: 720, height: 450 }], ['1920 × 1080', { width: 960, height: 540 }], ['1024 × 768', { width: 512, height: 384 }]]) {
  workbench(`at 200 % zoom on ${what} most of the height is the conversation's`, async (daemon, openPage) => {
    await daemon.session('zoom')
    await daemon.session('second')
    const page = await openPage({ hash: session('second'), viewport, deviceScaleFactor: 2 })
    await composer(page).waitFor()
    await visit(daemon, page, 'zoom')
    await composer(page).waitFor()
    await send(page, 'hang')
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await eventually('it has more than half of the height', async () => (await box(conversation(page))).height > viewport.height / 2)
    await allIsInside(page, what)
    // With a phone's keyboard or a large zoom: all of it is still there.
    for (const name of ['Stop', 'Queue', 'Attach files']) await page.getByRole('button', { name, exact: true }).waitFor()
  })
}

workbench('the composer is as wide as the conversation, with and without a panel beside it', async (daemon, openPage) => {
  await daemon.longSession('even', 30)
  const page = await openPage({ hash: session('even') })
  await conversation(page).getByText('number 29').waitFor()
  const edges = async (locator) => {
    const { x, width } = await box(locator)
    return [Math.round(x), Math.round(x + width)]
  }
  for (const open of [false, true]) {
    if (open) await page.getByRole('button', { name: 'Panel', exact: true }).click()
    await eventually('they line up', async () => {
      const said = await edges(conversation(page).getByRole('article', { name: 'You' }).last())
      return JSON.stringify(said) === JSON.stringify(await edges(page.getByRole('group', { name: 'Composer' })))
    })
  }
})

workbench('after a restart with much in the queue, a small window still has a conversation and a composer', async (daemon, openPage) => {
  await daemon.session('much')
  await daemon.say('much', 'permission')
  await eventually('it asks', async () => (await daemon.call('GET', '/api/asks')).asks.length === 1)
  for (let n = 0; n < 12; n++) await daemon.say('much', `echo ${n}`)
  await daemon.kill()
  await daemon.again()
  await eventually('they are held', async () => (await daemon.call('GET', '/api/sessions/much')).held === 12)
  const viewport = { width: 640, height: 400 }
  const page = await openPage({ hash: session('much'), viewport, deviceScaleFactor: 2 })
  await page.getByText('12 messages wait for you.').waitFor()
  const note = page.getByRole('region', { name: 'It waited for you when it was cut off' })
  await note.waitFor()
  await eventually('there is room for the conversation', async () => (await box(conversation(page))).height > 120)
  await eventually('the composer is in sight', async () => {
    const field = await box(composer(page))
    return field.y + field.height <= viewport.height
  })
  await page.getByRole('button', { name: 'Go on' }).scrollIntoViewIfNeeded()
  await page.getByRole('button', { name: 'Remove from the queue: echo 11' }).click()
  await page.getByText('11 messages wait for you.').waitFor()
  await page.getByRole('button', { name: 'Go on' }).click()
  await note.waitFor({ state: 'detached' })
})

workbench('a form is as high as what stands in it, and a page scrolls at its edge', async (daemon, openPage) => {
  await daemon.session('asks')
  await daemon.say('asks', 'plan approval')
  const page = await openPage({ hash: '#/new', viewport: { width: 1440, height: 500 } })
  for (const name of ['Folder', 'Model', 'Title']) {
    const field = page.locator('label', { has: page.getByLabel(name, { exact: true }) })
    await eventually(`${name} has no empty room`, async () => (await box(field)).height < 80)
  }
  await page.goto(`${daemon.url}/#/asks`)
  await page.getByRole('article').waitFor()
  await eventually('it scrolls at the edge', () =>
    page.getByRole('main').evaluate((main) => main.scrollHeight > main.clientHeight && main.getBoundingClientRect().right === innerWidth),
  )
  assert.ok((await box(page.getByRole('article'))).width < 800, 'what is read is not too wide')
})

workbench('in a low bar nothing is cut off', async (daemon, openPage) => {
  await daemon.session('low', { title: 'Typography, jumping quickly', model: 'mock-1', mode: 'plan' })
  await daemon.session('second')
  for (const tabs of [1, 2]) {
    const page = await openPage({ hash: session('low'), viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 })
    await isShown(page, 'Typography, jumping quickly')
    if (tabs === 2) {
      await visit(daemon, page, 'second')
      await visit(daemon, page, 'low', 'Typography, jumping quickly')
    }
    const facts = page.getByRole('button', { name: /Mock agent/ })
    await facts.waitFor()
    await eventually('the words are inside the bar', async () => {
      const [bar, words] = [await box(page.getByRole('main').locator('header').first()), await box(facts)]
      return words.y + words.height <= bar.y + bar.height - 2
    })
    await allIsInside(page, `with ${tabs}`)
  }
})
