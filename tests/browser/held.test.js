// What waits after a stop and after a restart, what is read before it is approved, what has changed, and the ways out of every corner.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, none, send, session, showView, visit, workbench } from './fixture.js'
import { Daemon } from './support.js'

const queue = (page) => page.getByRole('list', { name: 'Messages that wait' })

workbench('a stop holds what waits, a message that is sent comes first, and Continue lets the others go', async (daemon, openPage) => {
  await daemon.session('stop')
  const page = await openPage({ hash: session('stop') })
  await composer(page).waitFor()
  await send(page, 'hang')
  await conversation(page).getByText('Waiting.').waitFor()
  await send(page, 'echo first')
  await send(page, 'echo second')
  await queue(page).getByText('echo second').waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('The turn was stopped. 2 messages wait for you.').waitFor()
  await conversation(page).getByText('Stopped by you').waitFor()
  // Once, and in the words of people.
  assert.doesNotMatch(await conversation(page).innerText(), /stopped by web|turnloom/i)
  await send(page, 'echo now')
  await eventually('it was answered', async () => (await daemon.content('stop')) === 'now')
  await eventually('the others wait', async () => (await queue(page).getByRole('listitem').count()) === 2)
  await page.reload()
  await page.getByRole('button', { name: 'Continue' }).click()
  await daemon.untilIdle('stop')
  await eventually('the last one was answered', async () => (await daemon.content('stop')) === 'second')
  await queue(page).waitFor({ state: 'detached' })
})

workbench('a message that waits is edited in its place, in any page', async (daemon, openPage) => {
  await daemon.session('edit')
  await daemon.say('edit', 'hang')
  const words = 'echo first\n\nwith more than one line'
  await daemon.call('POST', '/api/sessions/edit/message', { message: words, message_id: 'a' })
  await daemon.call('POST', '/api/sessions/edit/message', { message: 'echo second', message_id: 'b' })
  const page = await openPage({ hash: session('edit') })
  await queue(page).getByRole('button', { name: 'Edit: echo first' }).click()
  const field = page.getByLabel('Edit the message')
  await eventually('all its words are there', async () => (await field.inputValue()) === words)
  await field.fill('echo other')
  await page.getByRole('button', { name: 'Save' }).click()
  await queue(page).getByText('echo other').waitFor()
  assert.deepEqual(
    (await daemon.call('GET', '/api/sessions/edit/queue')).queue.map((item) => item.message_id),
    ['a', 'b'],
  )
  // Looking at another session does not lose what is half written.
  await daemon.session('other')
  await queue(page).getByRole('button', { name: 'Edit: echo second' }).click()
  await field.fill('echo half')
  await visit(daemon, page, 'other')
  await conversation(page).getByText('Nothing has been said yet.').waitFor()
  await page.goBack()
  await queue(page).waitFor()
  await eventually('what was half written is there', async () => (await field.inputValue()) === 'echo half')
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
  // Escape leaves the words as they are, and stops nothing.
  await queue(page).getByRole('button', { name: 'Edit: echo second' }).click()
  await field.fill('not this')
  await page.keyboard.press('Escape')
  await queue(page).getByText('echo second').waitFor()
  assert.notEqual((await daemon.call('GET', '/api/sessions/edit')).turn, undefined)
})

workbench('after a restart a session says what became of its ask, needs you, and runs nothing by surprise', async (daemon, openPage) => {
  await daemon.session('cut')
  await daemon.say('cut', 'permission')
  await eventually('it asks', async () => (await daemon.call('GET', '/api/asks')).asks.length === 1)
  await daemon.call('POST', '/api/sessions/cut/message', { message: 'echo later', message_id: 'later' })
  await daemon.kill()
  await daemon.again()
  await eventually('it is settled', async () => (await daemon.call('GET', '/api/sessions/cut')).held === 1)
  const page = await openPage({ hash: session('cut') })
  await conversation(page).getByText(/Not answered: Turnloom was restarted/).waitFor()
  assert.doesNotMatch(await conversation(page).innerText(), /rejected|by turnloom|the daemon/i)
  await page.getByText('It waited for you when it was cut off').waitFor()
  await page.getByText('Turnloom was restarted. 1 message waits for you.').waitFor()
  const group = page.getByRole('navigation').or(page.locator('.left')).getByText('Needs you').first()
  await group.waitFor()
  await page.goto(`${daemon.url}/#/asks`)
  const card = page.getByRole('main').getByRole('article').filter({ has: page.getByRole('link', { name: 'cut' }) })
  await card.getByText('Run rm -rf build').waitFor()
  await card.getByRole('button', { name: 'Go on' }).click()
  await eventually('it goes on', async () => (await daemon.call('GET', '/api/sessions/cut')).lost_ask === undefined)
})

workbench('a plan is read as a document and approved with the choices of the agent', async (daemon, openPage) => {
  for (const [id, choice, said] of [
    ['once', 'Yes, and ask before each edit', 'I begin, and ask before each edit.'],
    ['always', 'Yes, and accept edits', 'I begin, and edit without asking.'],
  ]) {
    await daemon.session(id)
    await daemon.say(id, 'plan approval')
    const page = await openPage({ hash: session(id) })
    const plan = page.getByRole('group', { name: 'The plan' })
    await plan.getByRole('heading', { name: 'Weave the border' }).waitFor()
    await plan.getByRole('table').waitFor()
    assert.doesNotMatch(await conversation(page).innerText(), /\{"plan"|# Weave/)
    await page.getByRole('button', { name: new RegExp(choice) }).click()
    await conversation(page).getByText(said).waitFor()
    await conversation(page).getByText(/Plan approved by you/).waitFor()
  }
  await daemon.session('no')
  await daemon.say('no', 'plan approval')
  const page = await openPage({ hash: session('no') })
  await page.getByRole('button', { name: /No, keep planning/ }).click()
  await page.getByPlaceholder('What to change in the plan (optional)').fill('leave the border')
  await page.keyboard.press('Enter')
  await conversation(page).getByText('I will plan again: leave the border.').waitFor()
})

workbench('the files panel shows what is different over the whole session, and whole names', async (daemon, openPage) => {
  const long = 'src/a/very/long/way/down/into/the/folders/of/this/project/weaving_the_border.rs'
  const edit = (turn, path, hunks) => {
    const diff = `--- a//home/user/loom/${path}\n+++ b//home/user/loom/${path}\n${hunks}`
    return [
      ['user_message', { message_id: turn, content: [{ type: 'text', text: turn }], origin: 'user' }, turn],
      ['turn_started', { message_ids: [turn], origin: 'user' }, turn],
      ['tool_start', { tool_use_id: `t-${turn}`, tool: 'Edit', file_path: `/home/user/loom/${path}` }, turn],
      ['tool_result', { tool_use_id: `t-${turn}`, output: 'ok', is_error: false, diff }, turn],
      ['done', { outcome: 'completed' }, turn],
    ]
  }
  const filler = Array.from({ length: 40 }, (_, at) => [
    ['user_message', { message_id: `f${at}`, content: [{ type: 'text', text: `say ${at}` }], origin: 'user' }, `f${at}`],
    ['turn_started', { message_ids: [`f${at}`], origin: 'user' }, `f${at}`],
    ['done', { outcome: 'completed' }, `f${at}`],
  ]).flat()
  await daemon.import('files', [
    ['session_ready', { session_id: 'files', runtime: 'mock', title: 'files', cwd: '/home/user/loom' }],
    ...edit('one', long, '@@ -1,2 +1,2 @@\n-over\n+under\n same\n'),
    ...edit('two', long, '@@ -1,2 +1,3 @@\n-under\n+beneath\n+and on\n same\n'),
    ...edit('three', 'notes.md', '@@ -1,1 +1,1 @@\n-a\n+b\n'),
    ...edit('four', 'notes.md', '@@ -1,1 +1,1 @@\n-b\n+a\n'),
    ...filler,
  ])
  const page = await openPage({ hash: session('files') })
  await conversation(page).getByText('say 39').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').or(page.getByRole('dialog').getByRole('textbox')).fill('changed files')
  await page.keyboard.press('Enter')
  const panel = page.getByRole('tabpanel')
  await panel.getByText('1 file changed in this session').waitFor()
  await panel.getByText('+2').waitFor()
  const name = panel.getByText('weaving_the_border.rs')
  await eventually('the name is not cut off', async () => {
    const [seen, box] = [await name.boundingBox(), await panel.boundingBox()]
    return seen.x + seen.width <= box.x + box.width
  })
  assert.ok(!(await panel.innerText()).includes('/home/user/loom'), 'from the folder')
  await panel.getByRole('button', { expanded: false }).filter({ hasText: 'weaving_the_border.rs' }).click()
  const lines = panel.getByRole('group', { name: /Diff of/ })
  await lines.getByText('beneath').waitFor()
  const text = await lines.innerText()
  assert.ok(text.includes('over') && !text.includes('under'), 'only what is different now')
})

workbench('there is a way out of every corner', async (daemon, openPage) => {
  await daemon.session('over')
  await daemon.say('over', 'end')
  await daemon.untilIdle('over')
  const page = await openPage({ hash: session('over') })
  await page.getByRole('button', { name: 'Resume' }).click()
  await eventually('it is open again', async () => {
    const response = await daemon.call('POST', '/api/sessions/over/message', { message: 'echo back', message_id: 'back' }).catch(() => null)
    return response !== null
  })
  await conversation(page).getByText('back', { exact: true }).last().waitFor()
  // A failure that may pass.
  await daemon.say('over', 'crash')
  const again = conversation(page).getByRole('button', { name: 'Try again' })
  await again.click()
  await eventually('it was sent again', async () => {
    const { events } = await daemon.call('GET', '/api/sessions/over/events?after=0&limit=200')
    return events.filter((event) => event.type === 'user_message' && event.data.content[0].text === 'crash').length === 2
  })
  // A session that is not there.
  await page.goto(`${daemon.url}/#/s/nobody`)
  await page.getByRole('heading', { name: 'There is no such session' }).waitFor()
  await page.getByRole('link', { name: 'All sessions' }).waitFor()
  await none(composer(page))
  // Nor one whose address was typed wrongly.
  await page.goto(`${daemon.url}/#/s/%`)
  await page.reload()
  await page.getByRole('heading', { name: 'There is no such session' }).waitFor()
  // A link that was used, in a browser that is not signed in.
  await page.context().clearCookies()
  const { path } = await daemon.call('POST', '/api/login-links', {})
  await fetch(daemon.url + path, { redirect: 'manual' })
  await page.goto(daemon.url + path)
  await page.getByRole('heading', { name: 'This link does not work any more' }).waitFor()
})

workbench('a fork has a title of its own and leads back to where it comes from', async (daemon, openPage) => {
  await daemon.session('Weave')
  await daemon.say('Weave', 'echo hi')
  await daemon.untilIdle('Weave')
  const fork = await daemon.call('POST', '/api/sessions/Weave/fork', {})
  const page = await openPage({ hash: session(fork.session_id) })
  await page.getByRole('heading', { name: 'Weave (fork)' }).waitFor()
  await conversation(page).getByRole('link', { name: 'Forked from Weave' }).click()
  await page.getByRole('heading', { name: 'Weave', exact: true }).waitFor()
})

workbench('a stop while a tool runs is told once', async (daemon, openPage) => {
  await daemon.session('tool')
  const page = await openPage({ hash: session('tool') })
  await composer(page).waitFor()
  await send(page, 'parallel permission')
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  const turn = conversation(page).getByRole('article', { name: 'Agent' }).last()
  await turn.getByText('Stopped by you').waitFor()
  const row = turn.getByRole('button', { name: /Read loom.toml.*interrupted/ })
  await row.click()
  await row.and(page.locator('[aria-expanded=true]')).waitFor()
  const words = await turn.innerText()
  assert.equal(words.match(/stopped by/gi).length, 1, words)
  assert.doesNotMatch(words, /by web|turnloom|the turn ended/i)
})

workbench('a stop that does not reach the daemon is told, and can be tried again', async (daemon, openPage) => {
  await daemon.session('unheard')
  const page = await openPage({ hash: session('unheard') })
  await composer(page).waitFor()
  await send(page, 'hang')
  await conversation(page).getByText('Waiting.').waitFor()
  await page.route('**/api/sessions/unheard/stop', (route) => route.abort())
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  const told = page.getByRole('alert').getByText('It was not stopped and runs on. The daemon does not answer.')
  await told.waitFor()
  assert.notEqual((await daemon.show('unheard')).turn, undefined)
  await page.unroute('**/api/sessions/unheard/stop')
  await page.getByRole('button', { name: 'Stop again' }).press('Enter')
  await conversation(page).getByText('Stopped by you').waitFor()
  await none(told)
  await eventually('the focus is where one goes on', () => composer(page).evaluate((box) => box === document.activeElement))
})

workbench('a retry says why, which attempt, and when', async (daemon, openPage) => {
  await daemon.session('retry')
  await daemon.say('retry', 'hang')
  const view = await eventually('it runs', async () => {
    const view = await daemon.call('GET', '/api/sessions/retry/view')
    return view.session.turn !== undefined && view
  })
  const detail = { max_retries: 10, retry_delay_ms: 4200 }
  view.activity = { state: 'retrying', since: new Date().toISOString(), label: 'Retrying, attempt 2 (overloaded)', attempt: 2, detail }
  const page = await openPage({ sse: true })
  await showView(page, 'retry', view)
  await page.goto(`${daemon.url}/${session('retry')}`)
  await page.getByRole('status').getByText('Retrying (overloaded), attempt 2 of 10, in 4.2\u202fs', { exact: true }).waitFor()
})

workbench('a retry of an agent is told with its number, its limit and its delay', async (daemon, openPage) => {
  await daemon.session('retries')
  const page = await openPage({ hash: session('retries') })
  await composer(page).waitFor()
  await send(page, 'status 60000')
  await page.getByRole('status').getByText('Retrying, attempt 1 of 3, in 1 min', { exact: true }).waitFor()
})

workbench('a step that a stop cut off is not finished', async (daemon, openPage) => {
  const steps = [{ text: 'Warp', status: 'done' }, { text: 'Weave', status: 'running' }, { text: 'Cut', status: 'pending' }]
  const events = Daemon.turn('plan', [['plan_updated', { steps }]])
  events.at(-1)[1].outcome = 'stopped'
  await daemon.import('plan', events)
  const page = await openPage({ hash: session('plan') })
  await page.getByRole('button', { name: /^Panel/ }).click()
  await page.getByRole('tab', { name: 'Plan' }).click()
  const told = page.getByRole('tabpanel').getByRole('listitem')
  await eventually('all steps', async () => (await told.count()) === 3)
  assert.deepEqual((await told.allTextContents()).map((text) => text.trim()), ['Warp, done', 'Weave\u00a0· not finished', 'Cut, to do'])
})

workbench('what did not load is asked for again by a button', async (daemon, openPage) => {
  const path = 'notes.md'
  await daemon.import('again', Daemon.turn('again', [
    ['tool_start', { tool_use_id: 't', tool: 'Edit', file_path: path }],
    ['tool_result', { tool_use_id: 't', output: 'ok', is_error: false, diff: `--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,1 @@\n-a\n+warp\n` }],
  ]))
  for (let n = 0; n < 101; n++) await daemon.session(`s-${n}`)
  const page = await openPage({ hash: session('again') })
  await composer(page).waitFor()
  /** Fails once, in place of the daemon. */
  const failing = async (address, act) => {
    const problem = { type: 'about:blank', title: 'No', status: 503, code: 'overloaded', detail: 'the daemon has too much to do' }
    await page.route(address, (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', json: problem }))
    await act()
    await page.getByRole('alert').getByText('too much to do').waitFor()
    await page.unroute(address)
    await page.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await eventually('the focus is not lost', () => page.evaluate(() => document.activeElement !== document.body))
  }
  const panel = page.getByRole('tabpanel')
  await page.getByRole('button', { name: /^Panel/ }).click()
  await page.getByRole('tab', { name: 'Files' }).click()
  await failing('**/api/sessions/again/files*', () => panel.getByRole('button', { name: /notes.md/ }).click())
  await panel.getByText('warp').waitFor()
  await failing('**/api/sessions/again/events*', () => page.getByRole('tab', { name: 'Inspector' }).click())
  await panel.getByRole('button', { name: /session_ready/ }).waitFor()
  const column = page.getByRole('navigation', { name: 'Sessions', exact: true })
  const before = await column.getByRole('link').count()
  await failing('**/api/sessions?*cursor=*', () => column.getByRole('button', { name: 'Show older sessions' }).click())
  await eventually('older ones are listed', async () => (await column.getByRole('link').count()) > before)
})

workbench('one task of the background is ended by its button', async (daemon, openPage) => {
  await daemon.session('watch')
  const page = await openPage({ hash: session('watch') })
  await composer(page).waitFor()
  await send(page, 'background forever')
  await daemon.untilIdle('watch')
  const tasks = page.getByRole('button', { name: '1 task in the background' })
  const list = page.getByRole('group', { name: 'In the background' })
  await tasks.press('Enter')
  await list.waitFor()
  // It closes by key from wherever one is.
  await composer(page).focus()
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'detached' })
  await tasks.press('Enter')
  await list.getByRole('button', { name: 'Stop cargo watch' }).press('Enter')
  await tasks.waitFor({ state: 'detached' })
  assert.deepEqual((await daemon.call('GET', '/api/sessions/watch/view')).background, [])
  await eventually('the focus is in the conversation', () => conversation(page).evaluate((log) => log === document.activeElement))
})
