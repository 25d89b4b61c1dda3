// Sessions that work for other sessions: the card in the conversation, with asks that are answered there, and the rows below each other.

import assert from 'node:assert/strict'

import { conversation, eventually, none, session, visit, workbench } from './fixture.js'

const list = (page) => page.getByRole('navigation', { name: 'Sessions', exact: true })

workbench('a card shows what another session does and asks, and its row hangs below', async (daemon, openPage) => {
  await daemon.session('plans', { delegation: true })
  const page = await openPage({ hash: session('plans') })
  await daemon.say('plans', `host delegate ${JSON.stringify({ runtime: 'mock', prompt: 'permission' })}`)
  const card = conversation(page).getByRole('region', { name: /Delegated to mock: permission/ })
  await card.waitFor()
  // It is the other session's ask, and it is answered here.
  const allow = card.getByRole('button', { name: /Allow once/ })
  await allow.waitFor()
  await card.getByText('asks you').waitFor()
  const child = (await daemon.call('GET', '/api/sessions/plans/view')).messages.flatMap(({ blocks }) => blocks).find(({ kind }) => kind === 'delegation').child_session_id
  const rows = () => list(page).locator('.row').evaluateAll((all) => all.map((row) => [row.querySelector('a').getAttribute('href'), row.dataset.depth]))
  await eventually('the row hangs below', async () => {
    const found = await rows()
    const at = found.findIndex(([href]) => href.endsWith('/plans'))
    return found[at + 1]?.[0].endsWith(child) && found[at + 1][1] === '1'
  })
  await allow.click()
  await card.getByText('completed').waitFor()
  await none(card.getByRole('button', { name: /Allow once/ }))
  await daemon.untilIdle('plans')
  const asked = (await daemon.events(child)).filter(({ type }) => type === 'permission_resolved')
  assert.equal(asked[0].data.by, 'web')
  // The call has no row beside the card.
  assert.equal(await conversation(page).getByRole('button', { name: /^delegate/ }).count(), 0)
  await card.getByRole('button').first().click()
  await card.getByRole('link', { name: 'Open its session' }).click()
  await page.waitForURL(new RegExp(`#/s/${child}$`))
  await visit(daemon, page, 'plans')
  await card.waitFor()
})
