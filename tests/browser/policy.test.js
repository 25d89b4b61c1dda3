// Rules: what an ask says about a call, and what "always" stores.

import assert from 'node:assert/strict'

import { conversation, eventually, send, session, workbench } from './fixture.js'

workbench('"always" shows the rule before it stores it, and an equal call is not asked about again', async (daemon, openPage) => {
  await daemon.session('ruled', { mode: 'implement' })
  const page = await openPage({ hash: session('ruled') })
  await send(page, 'bash npm publish --tag next')
  const acts = conversation(page).getByRole('list', { name: 'What it would do' })
  await acts.getByText('makes something public').waitFor()
  await conversation(page).getByText('what implement mode does with everything else').waitFor()
  await conversation(page).getByRole('button', { name: 'Always…' }).click()
  const rule = conversation(page).locator('pre', { hasText: 'effect = "allow"' })
  await rule.waitFor()
  assert.match(await rule.innerText(), /command = "npm publish --tag next"/)
  assert.match(await rule.innerText(), /session = "ruled"/)
  await conversation(page).getByRole('radio', { name: 'run npm publish *' }).check()
  await conversation(page).getByRole('radio', { name: 'In this project' }).check()
  await eventually('the wider rule', async () => /command = "npm publish \*"\nproject = /.test(await rule.innerText()))
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/always.png` })
  await conversation(page).getByRole('button', { name: 'Allow always' }).click()
  await conversation(page).getByText('Allowed always').first().waitFor()
  await send(page, 'bash npm publish --tag latest')
  await conversation(page).getByText('Done.', { exact: true }).waitFor()
  assert.equal(await conversation(page).getByRole('button', { name: 'Always…' }).count(), 0)
  await conversation(page).getByRole('button', { name: /Run npm publish --tag latest/ }).click()
  await conversation(page).getByText(/Allowed by what was always allowed in this project/).waitFor()
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/decision.png` })
  await conversation(page).getByRole('link', { name: /^Show rule always/ }).click()
  await page.getByRole('region', { name: 'Learned' }).locator('.wanted').getByText('npm publish *').first().waitFor()
})

workbench('Escape leaves the choice of a rule, and nothing is answered', async (daemon, openPage) => {
  await daemon.session('ruled', { mode: 'ask' })
  const page = await openPage({ hash: session('ruled') })
  await send(page, 'call Write notes.txt')
  const always = conversation(page).getByRole('button', { name: 'Always…' })
  await always.click()
  await conversation(page).getByRole('radio', { name: 'Everywhere' }).waitFor()
  await page.keyboard.press('Escape')
  await always.waitFor()
  assert.ok(await daemon.ask('ruled'), 'it still waits')
})

workbench('one answer settles every ask for the same call', async (daemon, openPage) => {
  for (const id of ['first', 'second', 'third']) await daemon.session(id, { mode: 'implement' })
  for (const id of ['first', 'second']) await daemon.say(id, 'bash npm publish --tag next')
  await daemon.say('third', 'bash npm publish --tag latest')
  const page = await openPage({ hash: session('first') })
  const also = conversation(page).getByRole('checkbox', { name: 'Answer 1 other ask for the same too' })
  await also.check()
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/equal-asks.png` })
  await conversation(page).getByRole('button', { name: 'Allow once' }).click()
  await conversation(page).getByText('Allowed once').first().waitFor()
  await eventually('the other one is settled', async () => !(await daemon.ask('second')))
  assert.ok(await daemon.ask('third'), 'another call still waits')
})
