// Steps of a plan beside the conversation, and the components of the contract as agents show them: growing, failing, asking.

import assert from 'node:assert/strict'

import { component, inChat, showComponents } from './componentViews.js'
import { composer, conversation, eventually, session, workbench } from './fixture.js'
import { show } from './ownViews.js'

workbench('steps of a plan are moved and approved in the sidebar', async (daemon, openPage) => {
  const page = await openPage({ sse: true, viewport: { width: 1440, height: 900 } })
  const [warp, weave, wash] = ['Warp', 'Weave', 'Wash'].map((text) => ({ text, approved: false }))
  const calls = []
  await page.route('**/components/plan/callback', (route) => {
    calls.push(route.request().postDataJSON())
    return route.fulfill({ json: { accepted: true, seq: 1 } })
  })
  await showComponents(daemon, page, 'drags', {
    blocks: [inChat('words', 'markdown', { title: 'Words', text: 'Look beside.' })],
    components: [component('plan', 'plan_editor', 'sidebar', { title: 'Plan', steps: [warp, weave, wash], current_step: 0 })],
  })
  await page.getByRole('button', { name: /^Panel/ }).click()
  const plan = page.getByRole('region', { name: 'Sidebar' }).getByRole('region', { name: 'Plan' })
  await plan.getByRole('button', { name: /^Move step 1/ }).waitFor()
  await plan.getByRole('button', { name: /^Move step 1/ }).press('ArrowDown')
  await eventually('it is told', () => calls.length === 1)
  assert.deepEqual([calls[0].action, calls[0].payload], ['reorder_steps', { steps: [weave, warp, wash] }])
  await plan.getByRole('button', { name: /^Move step 3/ }).press('ArrowUp')
  await eventually('it is told', () => calls.length === 2)
  assert.deepEqual(calls[1].payload, { steps: [weave, wash, warp] })
  await plan.getByRole('button', { name: /^Approve step 1/ }).click()
  await eventually('it is told', () => calls.length === 3)
  assert.deepEqual([calls[2].action, calls[2].payload], ['approve_step', { step_index: 0 }])
})

workbench('the components of the contract, as agents show them', async (daemon, openPage) => {
  await daemon.session('shows')
  await daemon.say('shows', 'echo ready')
  await daemon.untilIdle('shows')
  const page = await openPage({ hash: session('shows') })
  await composer(page).waitFor()
  const card = (name) => conversation(page).getByRole('region', { name, exact: true })

  await show(daemon, 'shows', 'w', 'weather', 'chat', { title: 'Sky', location: 'Ghent' }, { status: 'loading' })
  await eventually('it loads', async () => (await card('Sky').getAttribute('aria-busy')) === 'true')
  await show(daemon, 'shows', 'w', 'weather', 'chat', { temperature: 11, unit: 'C', condition: 'rain' }, { merge: true, status: 'ready' })
  await card('Sky').getByText('11').first().waitFor()
  await show(daemon, 'shows', 'w', 'weather', 'chat', {}, { merge: true, status: 'error', error: 'the station is silent' })
  await card('Sky').getByText('The station is silent').waitFor()

  await show(daemon, 'shows', 'c', 'chart', 'chat', { title: 'Regions', type: 'bar', data: [{ region: 'North', sales: 4 }, { region: 'South', sales: 7 }], x: 'region', y: 'sales' })
  await card('Regions').getByText('North').first().waitFor()
  await show(daemon, 'shows', 'c', 'chart', 'chat', { data: [{ region: 'West', sales: 2 }] }, { merge: true, mode: 'append' })
  await card('Regions').getByText('West').first().waitFor()

  await show(daemon, 'shows', 'r', 'research_progress', 'chat', { title: 'Looms', queries: ['hand looms'], results_count: 2, status: 'searching', progress: 0.2 })
  await card('Looms').getByText('hand looms').waitFor()
  await show(daemon, 'shows', 'r', 'research_progress', 'chat', { queries: ['power looms'] }, { merge: true, mode: 'append' })
  await show(daemon, 'shows', 'r', 'research_progress', 'chat', { results_count: 9, progress: 1 }, { merge: true })
  await card('Looms').getByText('power looms').waitFor()
  await card('Looms').getByText('hand looms').waitFor()
})
