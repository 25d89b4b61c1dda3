// The acceptance scenarios of the agent UI standard that one agent and one person can show; A6, A7 and A11 stand with the asks, the composer and
// the fallbacks.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, none, send, session, toTop, workbench } from './fixture.js'
import { Daemon } from './support.js'

const agentSays = (page) => conversation(page).getByRole('article', { name: 'Agent' })

/** What stands in a message, in order: the kinds of rows and the words. */
const rowsOf = (page) => agentSays(page).last().locator('.block').evaluateAll((blocks) => blocks.map((block) => block.innerText.trim().split('\n')[0]))

workbench('A1, send and first status: a status that is true stands before the first words, and the turn can be stopped', async (daemon, openPage) => {
  await daemon.session('first')
  const page = await openPage({ hash: session('first') })
  await composer(page).waitFor()
  await send(page, 'sleep 60000')
  await conversation(page).getByRole('article', { name: 'You' }).getByText('sleep 60000').waitFor()
  await page.getByRole('status').filter({ hasText: /\w/ }).first().waitFor()
  const stop = page.getByRole('button', { name: 'Stop', exact: true })
  await stop.waitFor()
  assert.equal(await agentSays(page).getByText('Good morning').count(), 0)
  await stop.click()
  await daemon.untilIdle('first')
  await agentSays(page).getByText(/Stopped/).waitFor()
  await stop.waitFor({ state: 'detached' })
})

workbench('A2, text and reasoning apart: what was thought is not in the answer, also after a reload', async (daemon, openPage) => {
  await daemon.session('apart')
  const page = await openPage({ hash: session('apart') })
  await composer(page).waitFor()
  await send(page, 'echo the answer')
  await daemon.untilIdle('apart')
  for (const again of [false, true]) {
    if (again) await page.reload()
    await agentSays(page).getByText('the answer').waitFor()
    assert.equal(await agentSays(page).getByText('I will say it too').count(), 0)
    await agentSays(page).getByRole('button', { name: /Thought/ }).click()
    await agentSays(page).getByText('I will say it too').waitFor()
  }
  assert.equal((await daemon.content('apart')).trim(), 'the answer')
})

workbench('A3, interleaved turn: reasoning, tool, words, tool, words stand in the order they came, each once, live and after a reload', async (daemon, openPage) => {
  const events = [
    ['thinking', { block_id: 'k1', text: 'Hm.', done: true }],
    ['tool_start', { tool_use_id: 't1', tool: 'Bash', command: 'ls' }],
    ['tool_result', { tool_use_id: 't1', output: 'a\nb\n', is_error: false }],
    ['delta', { block_id: 'b1', text: 'First words.', done: true }],
    ['tool_start', { tool_use_id: 't2', tool: 'Grep', pattern: 'knot' }],
    ['tool_result', { tool_use_id: 't2', output: 'x\n', is_error: false }],
    ['delta', { block_id: 'b2', text: 'Last words.', done: true }],
  ]
  await daemon.import('order', Daemon.turn('order', events))
  const page = await openPage({ hash: session('order') })
  for (const again of [false, true]) {
    if (again) await page.reload()
    await agentSays(page).getByText('Last words.').waitFor()
    const rows = await rowsOf(page)
    assert.equal(rows.length, 5)
    for (const [at, what] of [/Thought/, /Run ls/, /First words/, /Search knot/, /Last words/].entries()) assert.match(rows[at], what)
  }
})

workbench('A4, final reconciliation: a final text does not repeat what was streamed, and what was taken back is gone', async (daemon, openPage) => {
  await daemon.session('final')
  const page = await openPage({ hash: session('final') })
  await composer(page).waitFor()
  await send(page, 'echo said once')
  await daemon.untilIdle('final')
  await agentSays(page).getByText('said once').waitFor()
  assert.equal((await agentSays(page).last().innerText()).split('said once').length - 1, 1)
  await send(page, 'retract')
  await agentSays(page).getByText('I said it differently in the end.').waitFor()
  await daemon.untilIdle('final')
  await none(agentSays(page).getByText('what I was going to'))
})

workbench('A5, tool call: start, progress and result are one row; a failure says so and keeps its output', async (daemon, openPage) => {
  await daemon.session('tools')
  const page = await openPage({ hash: session('tools') })
  await composer(page).waitFor()
  await send(page, 'tool')
  await agentSays(page).getByText('Three tools worked').waitFor()
  const ran = agentSays(page).getByRole('button', { name: /Run cargo test/ })
  await ran.waitFor()
  assert.equal(await ran.count(), 1)
  await ran.click()
  await agentSays(page).getByText('3 passed, 0 failed').last().waitFor()
  const failed = agentSays(page).getByRole('button', { name: /cat missing.txt.*failed/ })
  await failed.click()
  await agentSays(page).getByText('No such file or directory').waitFor()
})

workbench('A10, old session: first the frame and the title, then the newest messages, older ones only when they are wanted', async (daemon, openPage) => {
  await daemon.longSession('old', 200)
  const page = await openPage({ sse: true })
  await page.getByText('old').first().waitFor()
  let answer
  const held = new Promise((resolve) => (answer = resolve))
  await page.route('**/api/sessions/old/view/stream*', async (route) => {
    await held
    await route.continue()
  })
  const older = []
  page.on('request', (request) => request.url().includes('/view?') && older.push(request.url()))
  await page.goto(`${daemon.url}/${session('old')}`)
  await page.getByRole('heading', { name: 'old', exact: true }).waitFor()
  await composer(page).waitFor()
  assert.equal(await agentSays(page).count(), 0)
  answer()
  await conversation(page).getByText('number 199').waitFor()
  assert.deepEqual(older, [])
  assert.equal(await conversation(page).getByText('number 150').count(), 0)
  await eventually('older ones come when somebody looks for them', async () => {
    await toTop(page)
    return (await conversation(page).getByText('number 180').count()) > 0
  })
  // How long each step took is measured, shown, and told to the daemon.
  await page.keyboard.press('Control+.')
  for (const step of ['Open session to shell', 'Open session to messages', 'Open session to rest']) {
    const value = page.getByRole('tabpanel').locator('dt', { hasText: step }).locator('xpath=following-sibling::dd[1]')
    await eventually(step, async () => /\d/.test(await value.innerText()))
  }
  const metrics = async () => (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text()
  await eventually('the metrics know of it', async () => /page_milliseconds_count\{step="OpenToIdle"\} [1-9]/.test(await metrics()))
})

workbench('A12, task and multi-agent state: a sub-agent is a card of its own, background work is counted, and what asks comes first', async (daemon, openPage) => {
  await daemon.session('calm')
  await daemon.session('team')
  const page = await openPage({ hash: session('team') })
  await composer(page).waitFor()
  await send(page, 'subagent')
  await daemon.untilIdle('team')
  const card = agentSays(page).getByText('Explorer').first()
  await card.waitFor()
  assert.ok(!(await daemon.content('team')).includes('Two knots'), 'what a sub-agent said is not the answer')
  await send(page, 'background')
  await agentSays(page).getByText('The background work has ended well.').waitFor()
  await send(page, 'background forever')
  await page.getByText('1 task in the background').waitFor()
  await daemon.say('calm', 'permission')
  const list = page.getByRole('navigation', { name: 'Sessions', exact: true })
  await list.getByRole('region', { name: 'Needs you' }).getByText('calm').waitFor()
  await eventually('it is first', async () => (await list.getByRole('region').first().getAttribute('aria-label')) === 'Needs you')
})

workbench('A20, context and compaction: the boundary is shown with its numbers, and nothing is said again as an answer', async (daemon, openPage) => {
  await daemon.session('compact')
  const page = await openPage({ hash: session('compact') })
  await composer(page).waitFor()
  await send(page, 'echo something to remember')
  await daemon.untilIdle('compact')
  await send(page, 'compaction')
  await agentSays(page).getByText(/91.*k.*8\.2/).waitFor()
  await daemon.untilIdle('compact')
  await page.reload()
  await agentSays(page).getByText(/91.*k.*8\.2/).waitFor()
  await eventually('it is said once', async () => (await agentSays(page).getByText('something to remember').count()) === 1)
})

workbench('A21, diagnostics and metrics: what took how long is in the inspector and in the metrics, and not in the conversation', async (daemon, openPage) => {
  await daemon.session('measured')
  const page = await openPage({ hash: session('measured') })
  await page.keyboard.press('Control+.')
  const panel = page.getByRole('tabpanel')
  // A page that is not live yet would get the whole turn in one piece, without its steps.
  const live = panel.locator('dt', { hasText: 'Open session to live' }).locator('xpath=following-sibling::dd[1]')
  await eventually('it is live', async () => /\d/.test(await live.innerText()))
  await send(page, 'prose 100 100 100')
  await daemon.untilIdle('measured')
  for (const step of ['Send to accepted', 'Accepted to first event', 'Text to paint', 'Age of the oldest']) {
    const value = panel.locator('dt', { hasText: step }).locator('xpath=following-sibling::dd[1]')
    await eventually(step, async () => /\d/.test(await value.innerText()))
  }
  await panel.getByRole('button', { name: /turn_started/ }).waitFor()
  assert.equal(await conversation(page).getByText('turn_started').count(), 0)
  const metrics = async () => (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text()
  for (const step of ['SentToAccepted', 'BacklogAge']) {
    await eventually(step, async () => new RegExp(`page_milliseconds_count\\{step="${step}"\\} [1-9]`).test(await metrics()))
  }
})
