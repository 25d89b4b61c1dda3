// The page with components, state and a tool of its own, in a real browser.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { Stage, eventually } from './support.js'

let stage
before(async () => {
  stage = await Stage.open()
})
after(() => stage.close())

for (const name of ['components', 'components, straight to the daemon']) {
  test(name, async (t) => {
    const id = name.replaceAll(/[^a-z]+/g, '-')
    const { page, context, wrong, log, say } = await stage.visit(name, id)
    t.after(() => context.close())
    await page.getByText('get_weather is offered').waitFor()

    // What is pressed reaches the agent, and what it makes of it is shown.
    await say('buttons')
    await page.getByRole('button', { name: 'Throw it' }).click()
    await log.getByText('You pressed throw').waitFor()

    // Somebody waits for a component, and is answered.
    await say('interrupt')
    await page.getByText('1 waiting for you').waitFor()
    await page.getByLabel('Your answer').fill('2026-12-24')
    await page.getByRole('button', { name: 'Answer' }).click()
    await log.getByText('You gave me "2026-12-24".').waitFor()
    await page.getByText('Nothing waits').waitFor()

    // The page changes the state, the agent does, and so does another client.
    const rows = page.getByLabel('Rows')
    await page.getByRole('button', { name: 'One row more' }).click()
    await rows.getByText('1 rows').waitFor()
    await say('state')
    await rows.getByText('2 rows').waitFor()
    await stage.daemon.call('PATCH', `/api/sessions/${id}/state`, [{ op: 'replace', path: '/rows', value: 7 }])
    await rows.getByText('7 rows').waitFor()

    // The agent calls the tool of the page.
    await say('client get_weather {"city":"Ghent"}')
    await log.getByText('The client says: {"city":"Ghent","sky":"clear"}').waitFor()
    assert.deepEqual(wrong, [])
  })
}

test('two windows of one browser run a call once, and the one that is left answers the next', async (t) => {
  const { page, context } = await stage.visit('components', 'windows')
  t.after(() => context.close())
  await page.getByText('get_weather is offered').waitFor()
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByText('get_weather is offered').waitFor()
  const call = { message: 'client get_weather {"city":"Ghent"}' }
  await stage.daemon.call('POST', '/api/sessions/windows/message', call)
  for (const window of [page, other]) await window.getByText('The client says').waitFor()
  const ran = await Promise.all([page, other].map((window) => window.getByLabel('Calls').innerText()))
  assert.deepEqual(ran.sort(), ['0 calls', '1 calls'])
  const results = async () =>
    (await stage.daemon.call('GET', '/api/sessions/windows/events?types=interrupt_resolved')).events
  assert.equal((await results()).length, 1)
  await page.close()
  await stage.daemon.call('POST', '/api/sessions/windows/message', call)
  await eventually('the window that is left answers', async () => (await results()).length === 2)
})
