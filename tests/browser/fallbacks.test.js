// What the page was not made for, what is missing, and where components stand.

import assert from 'node:assert/strict'

import { conversation, eventually, session, workbench } from './fixture.js'
import { Daemon } from './support.js'

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
  await conversation(page).getByText('This page does not know how to draw Hologram; these are its properties.').waitFor()
})

workbench('components stand where they want to: in the chat, beside it, above it, on the canvas', async (daemon, openPage) => {
  const update = (surface, name, props) => ['component_update', { component_id: `c-${surface}`, name, surface, props, merge: false }]
  await daemon.import('surfaces', Daemon.turn('surfaces', [
    update('chat', 'BarChart', { title: 'Threads', values: [3, 5, 8] }),
    update('panel', 'Note', { title: 'Beside', text: 'I stand **beside**.' }),
    update('overlay', 'Note', { title: 'Above', text: 'I stand above.' }),
    update('canvas', 'DataTable', { title: 'Cloth', columns: ['thread', 'count'], rows: [['warp', 120], ['weft', 96]] }),
  ]))
  const page = await openPage({ hash: session('surfaces') })
  await conversation(page).getByRole('region', { name: 'BarChart' }).getByText('Threads').waitFor()
  const overlay = page.getByRole('dialog', { name: 'Above' })
  await overlay.getByText('I stand above.').waitFor()
  await overlay.getByRole('button', { name: 'Put Above away' }).click()
  await overlay.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show Above' }).click()
  await overlay.getByRole('button', { name: 'Put Above away' }).click()
  await page.getByRole('button', { name: 'Panel, 2 components' }).click()
  await page.getByRole('tabpanel').getByText('I stand beside.').waitFor()
  await page.getByRole('tab', { name: 'Canvas' }).click()
  await page.getByRole('cell', { name: 'weft' }).waitFor()
  const width = (await page.getByRole('complementary', { name: 'Panel' }).boundingBox()).width
  assert.ok(width > 500, `a canvas is wide, not ${width} px`)
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
  assert.deepEqual(pressed[0], { action: 'pick', payload: { colour: 'indigo' } })
})

workbench('A11, what is missing is said: a session that does not exist, an agent without a plan, output that is empty', async (daemon, openPage) => {
  const page = await openPage({ hash: session('nowhere') })
  await conversation(page).getByRole('alert').getByText(/nowhere/).waitFor()
  await page.getByText('refused').waitFor()
  await daemon.import('quiet', Daemon.turn('quiet', [
    ['tool_start', { tool_use_id: 't', tool: 'Lookup', input: {} }],
    ['tool_result', { tool_use_id: 't', output: '', is_error: false }],
  ]))
  await page.goto(`${daemon.url}/${session('quiet')}`)
  await conversation(page).getByRole('button', { name: /Lookup/ }).click()
  await conversation(page).getByText('No output').waitFor()
  await page.getByRole('button', { name: 'Panel', exact: true }).click()
  await page.getByText('The agent has made no plan.').waitFor()
})
