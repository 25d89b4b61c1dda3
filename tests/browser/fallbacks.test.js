// What the page was not made for, what is missing, and where components stand.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { composer, conversation, eventually, none, session, visit, workbench } from './fixture.js'
import { Daemon } from './support.js'

/** The smallest picture there is. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

workbench('what is not known is shown as it is: events, blocks, kinds of components', async (daemon, openPage) => {
  await daemon.import('strange', Daemon.turn('strange', [
    ['hologram', { depth: 3, colour: 'violet' }],
    ['component_update', { component_id: 'c1', name: 'Hologram', surface: 'chat', props: { depth: 7 }, merge: false }],
    ['delta', { block_id: 'b', text: 'Still here.', done: true }],
  ]))
  const page = await openPage({ hash: session('strange') })
  await conversation(page).getByText('Still here.').waitFor()
  await conversation(page).getByRole('button', { name: /hologram is not known to this page/ }).click()
  await conversation(page).getByText('violet').waitFor()
  await conversation(page).getByText('This page does not know how to draw Hologram.').waitFor()
})

workbench('a component that has moved stands in one place', async (daemon, openPage) => {
  const update = (surface) => ['component_update', { component_id: 'c', name: 'markdown', surface, props: { title: 'Mover', text: `I stand in the ${surface}.` }, merge: false }]
  const note = (page) => page.getByRole('region', { name: 'Mover', exact: true })
  for (const [id, surfaces] of [['to-panel', ['chat', 'panel']], ['to-chat', ['overlay', 'chat']]]) {
    await daemon.import(id, Daemon.turn(id, surfaces.map(update)))
    const page = await openPage({ hash: session(id) })
    await conversation(page).getByText('go', { exact: true }).waitFor()
    if (id === 'to-panel') {
      await page.getByRole('button', { name: 'Panel, 1 new component' }).click()
      await page.getByRole('tab', { name: /Mover/ }).click()
    }
    const [home, other] = id === 'to-panel' ? [page.getByRole('tabpanel'), conversation(page)] : [conversation(page), page.getByRole('dialog')]
    await note(home).getByText(`I stand in the ${surfaces[1]}.`).waitFor()
    await none(note(other))
    assert.equal(await note(page).count(), 1)
  }
})

workbench('what can be pressed in a component is told to the daemon, with what goes with it', async (daemon, openPage) => {
  await daemon.import('press', Daemon.turn('press', [
    ['component_update', { component_id: 'c', name: 'Picker', surface: 'chat', props: { actions: [{ action: 'pick', label: 'Pick indigo', payload: { colour: 'indigo' } }] }, merge: false }],
  ]))
  const page = await openPage({ hash: session('press') })
  const pressed = []
  await page.route('**/components/c/callback', (route) => {
    pressed.push(route.request().postDataJSON())
    return route.fulfill({ json: {} })
  })
  await conversation(page).getByRole('button', { name: 'Pick indigo' }).click()
  await eventually('it was told', () => pressed.length === 1)
  const { callback_id, ...act } = pressed[0]
  assert.match(callback_id, /^[0-9a-f-]{36}$/, 'what is sent again is taken once')
  assert.deepEqual(act, { action: 'pick', payload: { colour: 'indigo' } })
})

workbench('A11, what is missing is said: a session that does not exist, an agent without a plan, output that is empty', async (daemon, openPage) => {
  const page = await openPage({ hash: session('nowhere') })
  await page.getByRole('alert').getByText(/nowhere/).waitFor()
  // There is no conversation to skip to, but there is a page.
  await page.getByRole('button', { name: /^Skip to/ }).press('Enter')
  await eventually('the page has the focus', () => page.evaluate(() => document.activeElement.tagName === 'MAIN'))
  await daemon.import('quiet', Daemon.turn('quiet', [
    ['tool_start', { tool_use_id: 't', tool: 'Lookup', input: {} }],
    ['tool_result', { tool_use_id: 't', output: '', is_error: false }],
  ]))
  await visit(daemon, page, 'quiet')
  await conversation(page).getByRole('button', { name: /Lookup/ }).click()
  await conversation(page).getByText('No output').waitFor()
  await page.getByRole('button', { name: 'Panel', exact: true }).click()
  await page.getByText('The agent has made no plan.').waitFor()
})

/** Breaks what is stored of a session, in its place: the bracket at the end of its parameters. */
async function damage(daemon, id) {
  await daemon.terminate()
  const file = join(daemon.data, 'turnloom.db')
  const bytes = await readFile(file)
  const params = Buffer.from(JSON.stringify({ pace_ms: 0, title: id }))
  const at = bytes.indexOf(params)
  assert.ok(at > 0, 'its parameters are in the file')
  bytes[at + params.length - 1] = ']'.charCodeAt(0)
  await writeFile(file, bytes)
  await daemon.again()
}

workbench('a damaged session says so, can be read, and is deleted for good', async (daemon, openPage) => {
  for (const id of ['broken-one', 'broken-two']) {
    await daemon.session(id)
    await daemon.say(id, 'echo still readable')
    await daemon.untilIdle(id)
    await damage(daemon, id)
  }
  const page = await openPage({ hash: session('broken-one') })
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('still readable').waitFor()
  await conversation(page).getByText(/This session is damaged and cannot go on/).waitFor()
  await eventually('nothing can be sent', () => composer(page).isDisabled())
  assert.equal(await page.getByRole('button', { name: 'Attach files' }).isDisabled(), true)
  // Nothing is offered that would be refused.
  for (const name of ['Fork here', 'broken-one', /Mock agent/]) await none(page.getByRole('main').getByRole('button', { name, exact: true }))
  await conversation(page).getByRole('button', { name: 'Copy the answer' }).waitFor()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog', { name: 'Command palette' })
  await palette.getByRole('combobox').fill('this session')
  await none(palette.getByRole('option', { name: /Fork|Archive/ }))
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })
  const list = page.getByRole('navigation', { name: 'Sessions', exact: true })
  const gone = (id) => eventually(`${id} is gone`, () => daemon.call('GET', `/api/sessions/${id}`).then(() => false, () => true))
  // From the list: nothing else is offered, because nothing else would be done.
  const row = list.locator('.row', { hasText: 'damaged' })
  await eventually('both are listed', async () => (await row.count()) === 2)
  await row.first().getByRole('button', { name: /More for/ }).press('Enter')
  await eventually('only that', async () => (await page.getByRole('menuitem').allInnerTexts()).join() === 'Delete for good')
  await page.keyboard.press('Escape')
  // From the session itself.
  await conversation(page).getByRole('button', { name: 'Delete for good' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete for good' }).click()
  await gone('broken-one')
  await eventually('one is left', async () => (await row.count()) === 1)
  await row.getByRole('button', { name: /More for/ }).press('Enter')
  await page.getByRole('menuitem', { name: 'Delete for good' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete for good' }).click()
  await gone('broken-two')
  await eventually('none is listed', async () => (await list.getByText('damaged').count()) === 0)
})

workbench('"Copy the command" copies a command, and nothing else', async (daemon, openPage) => {
  const page = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  await page.route('**/api/agents', async (route) => {
    const answer = await (await route.fetch()).json()
    const codex = answer.agents.find(({ id }) => id === 'codex')
    Object.assign(codex, { installed: true, problem: 'there is neither a login nor a key', fix: 'log in with `codex login`, or set `OPENAI_API_KEY` for the daemon' })
    return route.fulfill({ json: answer })
  })
  await page.goto(`${daemon.url}/#/new`)
  const codex = page.getByRole('group', { name: 'Agent' }).locator('label', { has: page.getByText('Codex', { exact: true }) })
  await codex.getByText('Log in with').waitFor()
  const copy = codex.getByRole('button', { name: 'Copy the command' })
  await eventually('one command', async () => (await copy.count()) === 1)
  await copy.click()
  await codex.getByRole('button', { name: 'Copied' }).waitFor()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'codex login')
})

workbench('what is copied is copied also where pages have no clipboard of their own', async (daemon, openPage) => {
  await daemon.session('copy')
  await daemon.say('copy', 'echo over, under')
  const page = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  // As over plain HTTP from another machine.
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.goto(`${daemon.url}/${session('copy')}`)
  await page.reload()
  const answer = conversation(page).getByRole('article', { name: 'Agent' })
  const copy = answer.getByRole('button', { name: 'Copy the answer' })
  await copy.press('Enter')
  await answer.getByRole('button', { name: 'Copied' }).waitFor()
  const reader = await page.context().newPage()
  await reader.goto(`${daemon.url}/`)
  assert.equal((await reader.evaluate(() => navigator.clipboard.readText())).trim(), 'over, under')
  // The focus stays where it was.
  await page.bringToFront()
  assert.equal(await copy.or(answer.getByRole('button', { name: 'Copied' })).evaluate((button) => button === document.activeElement), true)
})

workbench('pictures from a tool are drawn beside its call, and open large', async (daemon, openPage) => {
  const image = { media_type: 'image/png', data: PIXEL }
  await daemon.import('pictures', Daemon.turn('pictures', [
    ['tool_start', { tool_use_id: 't', tool: 'Read', file_path: 'cloth.png', is_file_read: true }],
    ['tool_result', { tool_use_id: 't', output: '', is_error: false, images: [image, image] }],
  ]))
  const page = await openPage({ hash: session('pictures') })
  await conversation(page).getByRole('button', { name: /Read cloth.png/ }).waitFor()
  const pictures = conversation(page).getByRole('img')
  await eventually('two pictures', async () => (await pictures.count()) === 2)
  assert.ok(await pictures.first().evaluate((img) => img.decode().then(() => img.naturalWidth === 1)))
  await conversation(page).getByRole('button', { name: 'Enlarge Image' }).first().click()
  await page.getByRole('dialog', { name: 'Image' }).getByRole('img').waitFor()
})

workbench('edits say what was done to the file', async (daemon, openPage) => {
  await daemon.session('edits')
  await daemon.say('edits', 'diff')
  await daemon.untilIdle('edits')
  await daemon.say('edits', 'tool')
  await daemon.untilIdle('edits')
  const page = await openPage({ hash: session('edits') })
  const agent = conversation(page).getByRole('article', { name: 'Agent' })
  await agent.first().getByRole('button', { name: 'Edited weave.txt' }).waitFor()
  await agent.first().getByRole('button', { name: 'Created notes.md' }).waitFor()
  await agent.last().getByRole('button', { name: /Edit src\/loom.rs/ }).click()
  await agent.last().getByRole('button', { name: /^Edited src\/\s*loom.rs/ }).waitFor()
})
