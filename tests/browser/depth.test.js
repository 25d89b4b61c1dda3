// What is nested without end: the page shows it as far as anybody reads it, and goes on.

import assert from 'node:assert/strict'

import { composer, conversation, send, session, workbench } from './fixture.js'
import { Daemon } from './support.js'

const agentSays = (page) => conversation(page).getByRole('article', { name: 'Agent' })

workbench('quotes, lists and emphasis without end break neither the view nor what comes after', async (daemon, openPage) => {
  const texts = [
    `${'>'.repeat(2000)} quoted`,
    `${'- '.repeat(2000)}listed`,
    `${'*'.repeat(6000)}emphasised${'*'.repeat(6000)}`,
    `${'['.repeat(5000)}bracketed`,
  ]
  await daemon.import('deep', Daemon.turn('deep', texts.map((text, at) => ['delta', { block_id: `b${at}`, text, done: true }])))
  await daemon.agree('deep')
  const page = await openPage({ hash: session('deep') })
  for (const word of ['quoted', 'listed', 'emphasised', 'bracketed']) await agentSays(page).getByText(word).last().waitFor()
  // From a person's own hand, too, and while it streams in.
  await send(page, `echo ${'>'.repeat(2000)} mine`)
  await daemon.untilIdle('deep')
  await conversation(page).getByRole('article', { name: 'You' }).last().getByText('mine').waitFor()
  await send(page, `echo\n\n${'> '.repeat(1500)}answered\n\nafter it`)
  await agentSays(page).last().getByText('after it').waitFor()
  await page.reload()
  await agentSays(page).last().getByText('after it').waitFor()
  assert.ok(await composer(page).isEnabled())
})

workbench('sub-agents of sub-agents without end are there, one level at a time', async (daemon, openPage) => {
  const levels = Array.from({ length: 100 }, (_, n) => n)
  await daemon.import('nested', Daemon.turn('nested', [
    ...levels.map((n) => ['subagent_started', { subagent_id: `s${n}`, name: `Helper ${n}.`, ...(n > 0 ? { parent_subagent_id: `s${n - 1}` } : {}) }]),
    ...levels.toReversed().map((n) => ['subagent_ended', { subagent_id: `s${n}`, status: 'completed', tool_calls: 0, file_changes: 0 }]),
    ['delta', { block_id: 'b', text: 'All have ended.', done: true }],
  ]))
  const page = await openPage({ hash: session('nested') })
  await agentSays(page).getByText('All have ended.').waitFor()
  for (let n = 0; n < 8; n++) await agentSays(page).getByRole('button', { name: `Helper ${n}.` }).click()
  await agentSays(page).getByRole('button', { name: 'Helper 8.' }).waitFor()
  assert.equal(await agentSays(page).getByRole('button', { name: 'Helper 9.' }).count(), 0)
})

workbench('properties and inputs are shown only so deep', async (daemon, openPage) => {
  const nested = (levels) => (levels === 0 ? 'the bottom' : { inside: nested(levels - 1) })
  await daemon.import('values', Daemon.turn('values', [
    ['component_update', { component_id: 'c', name: 'Hologram', surface: 'chat', props: nested(30), merge: false }],
    ['tool_start', { tool_use_id: 't', tool: 'Lookup', input: nested(50) }],
    ['tool_result', { tool_use_id: 't', output: 'looked up', is_error: false }],
  ]))
  const page = await openPage({ hash: session('values') })
  await conversation(page).getByText('This page does not know how to draw Hologram.').waitFor()
  await conversation(page).getByRole('button', { name: /Lookup/ }).click()
  await conversation(page).getByText('looked up', { exact: true }).waitFor()
  assert.equal(await conversation(page).getByText('the bottom').count(), 0)
  await page.keyboard.press('Control+.')
  await page.getByRole('button', { name: /component_update/ }).click()
})
