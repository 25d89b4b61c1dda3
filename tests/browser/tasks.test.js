// Everything that runs, in a page that looks at one of it: the acceptance scenarios of the agent UI standard for tasks, background work and capsules.

import assert from 'node:assert/strict'

import { allIsInside, axeFindings, composer, conversation, eventually, none, send, session, visit, workbench } from './fixture.js'
import { Daemon } from './support.js'

const list = (page) => page.getByRole('navigation', { name: 'Sessions', exact: true })
const row = (page, name) => list(page).locator('.row', { hasText: name })
const capsules = (page) => page.getByRole('group', { name: 'Work' })
const panel = (page) => page.getByRole('dialog', { name: 'Everything that runs' })
const toasts = (page) => page.getByRole('region', { name: 'What happened elsewhere' })

/** A schedule whose run begins now, in a session of its own. */
async function scheduled(daemon, id, prompt) {
  const when = { type: 'interval', every: '1h' }
  await daemon.call('POST', '/api/schedules', { schedule_id: id, title: id, when, prompt, runtime: 'mock', params: { title: id, pace_ms: 0 } })
  await daemon.call('POST', `/api/schedules/${id}/run`, {})
  const tasks = () => daemon.call('GET', '/api/tasks?type=scheduled')
  return eventually('the run has a turn', async () => (await tasks()).tasks[0])
}

workbench('A12, task capsules: what needs somebody comes first, everything that runs is behind them, and none of it is said in a conversation', async (daemon, openPage) => {
  for (const id of ['calm', 'runs', 'asks', 'plans', 'breaks', 'ends']) await daemon.session(id)
  const page = await openPage({ hash: session('calm') })
  await composer(page).waitFor()
  await eventually('nothing runs', async () => (await capsules(page).count()) === 0)
  await daemon.say('runs', 'hang')
  await capsules(page).getByRole('button', { name: '1 running' }).waitFor()
  await daemon.say('runs', 'echo later')
  await capsules(page).getByRole('button', { name: '1 queued' }).waitFor()
  await daemon.say('asks', 'permission')
  await capsules(page).getByRole('button', { name: '1 needs input' }).waitFor()
  await daemon.say('plans', 'plan approval')
  await capsules(page).getByRole('button', { name: '1 plan ready' }).waitFor()
  await daemon.say('breaks', 'error')
  await capsules(page).getByRole('button', { name: '1 failed' }).waitFor()
  await daemon.say('ends', 'hang')
  await capsules(page).getByRole('button', { name: '2 running' }).waitFor()
  await daemon.call('POST', '/api/sessions/ends/stop', {})
  await capsules(page).getByRole('button', { name: '1 cancelled' }).waitFor()
  const names = await capsules(page).getByRole('button').allInnerTexts()
  assert.deepEqual(names, ['1 needs input', '1 plan ready', '1 failed', '1 running', '1 queued', '1 cancelled'])
  await capsules(page).getByRole('button').first().click()
  await panel(page).getByRole('region', { name: 'Needs input' }).getByRole('link', { name: 'asks', exact: true }).waitFor()
  await panel(page).getByRole('region', { name: 'Needs input' }).getByRole('link', { name: 'Read the plan' }).waitFor()
  await panel(page).getByRole('region', { name: 'Ended' }).getByText(/^Failed/).waitFor()
  // Ended from here, and the fact says so.
  await panel(page).getByRole('button', { name: 'Cancel runs' }).click()
  await eventually('it was stopped', async () => (await daemon.call('GET', '/api/tasks?session_id=runs&status=cancelled')).tasks.length === 1)
  await none(panel(page).getByRole('button', { name: 'Cancel runs' }))
  // By key: it opens, closes, and what had the focus has it again.
  await page.keyboard.press('Escape')
  await none(panel(page))
  await page.keyboard.press('Alt+t')
  await panel(page).waitFor()
  await panel(page).getByRole('link', { name: 'asks', exact: true }).click()
  await conversation(page).getByRole('button', { name: /Allow once/ }).waitFor()
  // What ended was seen.
  await none(capsules(page).getByRole('button', { name: /failed|cancelled/ }))
  await visit(daemon, page, 'calm')
  assert.equal((await conversation(page).innerText()).trim().includes('hang'), false)
})

workbench('A14, parallel workers: sub-agents are counted as long as they work', async (daemon, openPage) => {
  await daemon.session('calm')
  await daemon.session('team')
  const page = await openPage({ hash: session('calm') })
  await composer(page).waitFor()
  await daemon.say('team', 'subagent permission')
  await capsules(page).getByRole('button', { name: '1 sub-agent' }).waitFor()
  await daemon.answer('team')
  await daemon.untilIdle('team')
  await none(capsules(page).getByRole('button', { name: /sub-agent/ }))
})

workbench('A18, background: a turn that a schedule began says so in its session, and is cancelled there', async (daemon, openPage) => {
  await daemon.session('mine')
  const task = await scheduled(daemon, 'nightly', 'hang')
  assert.deepEqual([task.type, task.presence], ['scheduled', 'background'])
  const page = await openPage({ hash: session(task.sessionId) })
  await page.getByText('Working in the background · scheduled').waitFor()
  await page.keyboard.press('Alt+t')
  const background = panel(page).getByRole('region', { name: 'In the background' })
  await background.getByText('scheduled').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('main').getByRole('button', { name: 'Cancel', exact: true }).click()
  await daemon.untilIdle(task.sessionId)
  await none(page.getByText(/Working in the background/))
  // What a person begins is in front.
  await visit(daemon, page, 'mine')
  await send(page, 'hang')
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  await capsules(page).getByRole('button', { name: '1 running' }).waitFor()
  assert.equal(await page.getByText(/Working in the background/).count(), 0)
})

workbench('A19, idle is not done: the daemon takes a silent turn for dead, the page shows it, and it is stopped by force', async (daemon, openPage) => {
  const page = await openPage()
  await daemon.session('silent')
  await daemon.session('waits')
  await daemon.say('waits', 'permission')
  await daemon.say('silent', 'hang')
  await capsules(page).getByRole('button', { name: '1 silent' }).waitFor()
  await row(page, 'silent').getByText('No sign of life').waitFor()
  // Who waits for a person is not dead.
  await row(page, 'waits').getByText('Asks for permission').waitFor()
  await visit(daemon, page, 'silent')
  await page.getByText('Taken for dead').waitFor()
  await page.getByRole('button', { name: 'Force stop' }).click()
  await daemon.untilIdle('silent')
  await none(page.getByText('Taken for dead'))
}, 'zombie_seconds = 1')

workbench('a bubble comes with the turn, says what it does, settles, and is gone', async (daemon, openPage) => {
  await daemon.session('calm')
  await daemon.session('works')
  const page = await openPage({ hash: session('calm') })
  const bubble = row(page, 'works').locator('.bubble')
  await row(page, 'works').waitFor()
  assert.equal(await bubble.count(), 0)
  await page.evaluate(() => {
    window.phases = []
    const look = () => {
      const found = [...document.querySelectorAll('.row')].find((row) => row.textContent.includes('works'))?.querySelector('.bubble')
      const phase = found ? ['entering', 'live', 'settling'].find((name) => found.classList.contains(name)) : 'none'
      if (window.phases.at(-1)?.phase !== phase) window.phases.push({ phase, at: performance.now() })
    }
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['class'] })
  })
  await daemon.say('works', 'hang')
  await bubble.waitFor()
  await eventually('it is live', () => bubble.evaluate((element) => element.classList.contains('live')).catch(() => false))
  await daemon.call('POST', '/api/sessions/works/stop', {})
  await row(page, 'works').getByText(/Cancelled|Done/).waitFor()
  await eventually('it is gone', async () => (await bubble.count()) === 0)
  const phases = await page.evaluate(() => window.phases)
  const names = phases.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1])
  assert.deepEqual(names.slice(-4), ['entering', 'live', 'settling', 'none'])
  const [settling, none] = phases.slice(-2)
  assert.ok(none.at - settling.at >= 2_400, `it settled for ${none.at - settling.at} ms`)
})

workbench('context pressure stands with the session, also when nothing runs', async (daemon, openPage) => {
  const usage = (used) => ['usage', { input_tokens: used, output_tokens: 1, context_used: used, context_window: 1_000 }]
  await daemon.import('roomy', Daemon.turn('roomy', [usage(300)]))
  await daemon.import('near', Daemon.turn('near', [usage(850)]))
  await daemon.import('full', Daemon.turn('full', [usage(990)]))
  const page = await openPage()
  await row(page, 'near').getByText('85 %').waitFor()
  await row(page, 'full').locator('.pressure.critical').waitFor()
  assert.equal(await row(page, 'roomy').locator('.pressure').count(), 0)
})

workbench('what ends elsewhere is said once and leads there; what is on the screen is not said; what can be undone can be undone', async (daemon, openPage) => {
  for (const id of ['here', 'there', 'away']) await daemon.session(id)
  const page = await openPage({ hash: session('here') })
  await composer(page).waitFor()
  await send(page, 'echo on the screen')
  await daemon.untilIdle('here')
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('on the screen').waitFor()
  await daemon.say('there', 'error')
  const toast = toasts(page).getByRole('alert').filter({ hasText: 'there: Failed' })
  await toast.waitFor()
  assert.equal(await toasts(page).getByText(/^here:/).count(), 0, 'what was on the screen is not among them')
  // Whoever looks at everything sees it there.
  await page.keyboard.press('Alt+t')
  await none(toast)
  await page.keyboard.press('Escape')
  await daemon.say('there', 'error')
  await toast.getByRole('link', { name: 'Show' }).click()
  await conversation(page).getByText('error', { exact: true }).first().waitFor()
  await none(toast)
  // Put away, and back.
  await row(page, 'away').hover()
  await row(page, 'away').getByRole('button', { name: 'More for away' }).click()
  await page.getByRole('menuitem', { name: 'Archive' }).click()
  await toasts(page).getByText('away is archived').waitFor()
  await none(row(page, 'away'))
  await toasts(page).getByRole('button', { name: 'Undo' }).click()
  await row(page, 'away').waitFor()
  assert.equal((await daemon.show('away')).archived, false)
})

workbench('the network is cut and comes back: the page knows what runs and how the rest ended', async (daemon, openPage) => {
  for (const id of ['calm', 'stays', 'goes']) await daemon.session(id)
  const page = await openPage({ hash: session('calm') })
  await composer(page).waitFor()
  await daemon.say('stays', 'permission')
  await daemon.say('goes', 'hang')
  await capsules(page).getByRole('button', { name: '1 running' }).waitFor()
  // The daemon ends and comes back: what ran has ended, and an ask is lost with it.
  await daemon.kill()
  await page.getByText('The daemon does not answer.', { exact: true }).waitFor()
  await daemon.again()
  await none(capsules(page).getByRole('button', { name: /running|needs input/ }))
  await capsules(page).getByRole('button', { name: '2 failed' }).waitFor()
  await daemon.say('goes', 'hang')
  await capsules(page).getByRole('button', { name: '1 running' }).waitFor()
})

workbench('two tabs and a phone show the same', async (daemon, openPage) => {
  await daemon.session('one')
  const first = await openPage({ hash: session('one') })
  const second = await first.context().newPage()
  await second.goto(`${daemon.url}/`)
  const phone = await openPage({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, bypassCSP: true })
  await composer(first).waitFor()
  await send(first, 'hang')
  await capsules(second).getByRole('button', { name: '1 running' }).waitFor()
  await phone.getByRole('button', { name: /^Work/ }).tap()
  await panel(phone).getByRole('link', { name: 'one', exact: true }).waitFor()
  await allIsInside(phone, 'the panel on a phone')
  assert.deepEqual(await axeFindings(phone), [])
  await panel(phone).getByRole('button', { name: 'Cancel one' }).tap()
  // Of two tabs only the one that does not show it says that it ended.
  await toasts(second).getByText('one: Cancelled').waitFor()
  await daemon.untilIdle('one')
  assert.equal(await toasts(first).getByText('one: Cancelled').count(), 0)
  for (const page of [first, second]) await none(capsules(page).getByRole('button', { name: /running/ }))
  await phone.goto(`${daemon.url}/#/sessions`)
  await panel(phone).getByRole('button', { name: 'Close' }).tap()
  await none(panel(phone))
})

workbench('nothing is asked for while nothing happens, also where there is only the stream of tasks', async (daemon, openPage) => {
  await daemon.session('quiet')
  await daemon.session('other')
  const page = await openPage({ hash: session('quiet'), sse: true })
  await composer(page).waitFor()
  await row(page, 'other').waitFor()
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await daemon.say('other', 'permission')
  await row(page, 'other').getByText('Asks for permission').waitFor()
  await eventually('the list was read again', () => asked.includes('/api/inbox') && asked.includes('/api/sessions'))
  await eventually('it has come to rest', async () => {
    const before = asked.length
    await page.waitForTimeout(700)
    return asked.length === before
  })
  // Longer than lists were ever asked for again.
  asked.length = 0
  await page.waitForTimeout(4_000)
  // What the page has measured is told now and then; that is no question.
  assert.deepEqual(asked.filter((path) => !path.startsWith('/api/policy') && path !== '/api/timings'), [])
})
