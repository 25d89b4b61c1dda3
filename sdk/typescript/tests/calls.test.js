// Every call, against the real daemon.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Turnloom, TurnloomError } from 'turnloom'

import { eventually, fixture } from './support.js'

const the = fixture()

/** Runs a turn to its end and gives its events. */
async function turn(id, message) {
  const events = []
  for await (const event of the.client.streamTurn(id, message)) events.push(event)
  return events
}

/** What the agent said last. */
const said = async (id) => (await the.client.getView(id)).messages.findLast(({ role }) => role === 'agent').content

test('the daemon and its agents', async () => {
  assert.equal((await the.client.health()).status, 'ok')
  const mock = (await the.client.listAgents()).find(({ id }) => id === 'mock')
  assert.ok(mock.installed && mock.capabilities.steer)
})

test('a session, from its creation to its end', async () => {
  const { client } = the
  const wanted = { session_id: 'life', runtime: 'mock', params: { title: 'Life', pace_ms: 0 } }
  const made = await client.createSession(wanted)
  assert.deepEqual([made.session_id, made.title, made.status], ['life', 'Life', 'idle'])
  assert.equal((await client.createSession(wanted)).session_id, 'life')
  await assert.rejects(client.createSession({ ...wanted, params: {} }), { code: 'session_exists', status: 409 })
  assert.equal((await client.updateSession('life', { title: 'Long life' })).title, 'Long life')
  assert.deepEqual(
    (await client.listSessions({ q: 'Long', limit: 1 })).sessions.map(({ session_id }) => session_id),
    ['life'],
  )
  assert.equal((await client.archiveSession('life')).status, 'archived')
  assert.deepEqual((await client.listSessions({ archived: true })).sessions.length, 1)
  await assert.rejects(client.postMessage('life', 'hello'), { code: 'archived' })
  assert.equal((await client.unarchiveSession('life')).status, 'idle')
  assert.equal((await client.getSession('life')).archived, false)
  assert.equal(await client.deleteSession('life'), undefined)
  await assert.rejects(client.getSession('life'), { code: 'session_not_found', status: 404 })
})

test('messages are taken once, wait, change places and are taken back', async () => {
  const { client } = the
  const id = await the.session()
  const first = { message: [{ type: 'text', text: 'hang' }], message_id: 'm1' }
  const receipt = await client.postMessage(id, first)
  assert.equal(receipt.message_id, 'm1')
  assert.deepEqual(await client.postMessage(id, first), receipt)
  await assert.rejects(client.postMessage(id, { message: 'no', when: 'reject' }), { code: 'busy', status: 409 })
  for (const message_id of ['m2', 'm3']) await client.postMessage(id, { message: 'echo ok', message_id })
  assert.deepEqual(
    (await client.reorderQueue(id, ['m3', 'm2'])).map(({ message_id }) => message_id),
    ['m3', 'm2'],
  )
  assert.deepEqual(
    (await client.removeFromQueue(id, 'm2')).map(({ message_id }) => message_id),
    ['m3'],
  )
  assert.deepEqual(
    (await client.getQueue(id)).map(({ message_id }) => message_id),
    ['m3'],
  )
  assert.equal(await client.stop(id, { turn_id: receipt.turn_id }), true)
  await eventually('the queue is empty and nothing runs', async () => (await client.getSession(id)).status === 'idle')
  assert.equal(await said(id), 'ok')
  assert.equal(await client.stop(id), false)
})

test('a history is forked, rolled back, compacted, resumed', async () => {
  const { client } = the
  const id = await the.session()
  await turn(id, 'echo one')
  await turn(id, 'echo two')
  const fork = await client.forkSession(id, { session_id: 'forked' })
  assert.equal(fork.session_id, 'forked')
  assert.equal(await said('forked'), 'two')
  await client.rollbackSession(id, { turns: 1 })
  assert.equal(await said(id), 'one')
  await client.compactSession(id)
  await eventually(
    'it is compacted',
    async () => (await client.getEvents(id, { types: ['compaction_end'] })).events.length === 1,
  )
  assert.equal((await client.resumeSession('forked')).session_id, 'forked')
})

test('pages of the log and of the view', async () => {
  const { client } = the
  const id = await the.session()
  const events = await turn(id, 'echo page')
  const page = await client.getEvents(id, { after: events[0].seq - 1, limit: 3 })
  const next = events[2].seq
  assert.deepEqual(page, { events: events.slice(0, 3), head: events.at(-1).seq, next, has_more: true })
  const { events: some } = await client.getEvents(id, { types: ['user_message', 'done'] })
  assert.deepEqual(
    some.map(({ type }) => type),
    ['user_message', 'done'],
  )
  const view = await client.getView(id, { messages: 1 })
  assert.deepEqual(
    view.messages.map(({ role }) => role),
    ['agent'],
  )
  const older = await client.getView(id, { messages: 1, before: view.before })
  assert.deepEqual(
    older.messages.map(({ role }) => role),
    ['user'],
  )
})

test('what is too large for an event', async () => {
  const id = await the.session()
  const result = (await turn(id, 'big 100000')).find(({ type }) => type === 'tool_result')
  const { id: blob, tail } = result.data.blob
  assert.equal((await the.client.getBlob(blob)).size, 100_000)
  const range = { start: 100_000 - tail.length, end: 100_000 }
  assert.equal(await (await the.client.getBlob(blob, { range })).text(), tail)
  const headers = { authorization: `Bearer ${the.daemon.token}` }
  assert.equal((await (await fetch(the.client.blobUrl(blob), { headers })).text()).length, 100_000)
  const log = await (await fetch(the.client.eventsUrl(id, { after: 2, limit: 1 }), { headers })).json()
  assert.deepEqual(
    log.events.map(({ seq }) => seq),
    [3],
  )
  await assert.rejects(the.client.getBlob('nothing'), { code: 'blob_not_found', status: 404 })
})

test('what a page has measured is in the metrics', async () => {
  assert.equal(await the.client.reportTimings([{ step: 'open_to_shell', ms: 12.5 }]), undefined)
  await assert.rejects(the.client.reportTimings([{ step: 'open_to_nowhere', ms: 1 }]), { status: 400 })
})

test('a picture that was sent can be shown', async () => {
  const id = await the.session()
  const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(30_000, 7)])
  const picture = { type: 'image', media_type: 'image/png', data: bytes.toString('base64') }
  for await (const event of the.client.streamTurn(id, { message: [{ type: 'text', text: 'echo look' }, picture] })) {
    if (event.type !== 'user_message') continue
    const { blob } = event.data.content[1]
    const shown = await the.client.getPicture(blob.id)
    assert.deepEqual([shown.type, Buffer.from(await shown.arrayBuffer()).equals(bytes)], ['image/png', true])
    assert.equal(await (await the.client.getBlob(blob.id)).text(), picture.data)
  }
})

test('files that were changed, with what is different now', async () => {
  const id = await the.session()
  await turn(id, 'tool')
  const [file] = await the.client.getFiles(id)
  assert.ok(file.added > 0 && file.diff.includes('+') && file.exact, JSON.stringify(file))
  assert.deepEqual(await the.client.getFiles(id, { path: file.path }), [file])
  assert.deepEqual(await the.client.getFiles(id, { path: 'nowhere' }), [])
})

test('one task of the background is ended', async () => {
  const { client } = the
  const id = await the.session()
  await turn(id, 'background forever')
  const [task] = (await client.getView(id)).background
  assert.equal(await client.stopBackground(id, task.background_id), undefined)
  await eventually('it has ended', async () => (await client.getView(id)).background.length === 0)
  await assert.rejects(client.stopBackground(id, task.background_id), { status: 404 })
})

test('browsers are signed in, listed and signed out', async () => {
  const { client } = the
  const visit = async (browser) =>
    fetch(await client.makeLoginLink(), { redirect: 'manual', headers: { 'user-agent': browser } })
  for (const browser of ['Loom/1', 'Loom/2', 'Loom/3']) assert.equal((await visit(browser)).status, 303)
  const names = async () => (await client.listSignIns()).map(({ browser }) => browser).sort()
  assert.deepEqual(await names(), ['Loom/1', 'Loom/2', 'Loom/3'])
  const second = (await client.listSignIns()).find(({ browser }) => browser === 'Loom/2')
  assert.equal(second.current, false)
  assert.equal(await client.endSignIn(second.id), undefined)
  assert.deepEqual(await names(), ['Loom/1', 'Loom/3'])
  await assert.rejects(client.endSignIn(second.id), { code: 'sign_in_not_found', status: 404 })
  await client.endAllSignIns()
  assert.deepEqual(await names(), [])
})

test('conversations of an agent that has none', async () => {
  assert.deepEqual(await the.client.listConversations('claude', { cwd: '/nowhere' }), [])
  await assert.rejects(the.client.listConversations('nobody', { cwd: '/' }), { code: 'unknown_runtime' })
})

/** The first ask of a turn, which waits. */
async function asked(message) {
  const id = await the.session()
  await the.client.postMessage(id, message)
  const ask = await eventually('an ask', async () =>
    (await the.client.listAsks()).find(({ session_id }) => session_id === id),
  )
  return { id, ask }
}

/** What the agent says when the turn has gone on to its end. */
async function ending(id) {
  for await (const { type } of the.client.streamEvents(id)) if (type === 'done') return said(id)
}

const answers = {
  'a permission': [
    'permission',
    (id, ask) => the.client.replyPermission(id, ask, 'once'),
    'Done, with your permission.',
  ],
  'a refusal with its reason': [
    'permission',
    (id, ask) => the.client.replyPermission(id, ask, { reply: 'reject', message: 'too late' }),
    'I did not run it: too late.',
  ],
  'a question': [
    'question',
    (id, ask) => the.client.replyQuestion(id, ask, [['Silk'], ['Weld']]),
    'You chose Silk; Weld.',
  ],
  'a question that is rejected': [
    'question',
    (id, ask) => the.client.rejectQuestion(id, ask),
    'Then I will choose myself.',
  ],
  'an interrupt': [
    'interrupt',
    (id, ask) => the.client.answerInterrupt(id, ask, '2026-12-24'),
    'You gave me "2026-12-24".',
  ],
}
for (const [name, [message, reply, expected]] of Object.entries(answers)) {
  test(`${name} is settled once`, async () => {
    const { id, ask } = await asked(message)
    assert.equal((await reply(id, ask.ask_id)).resolved, true)
    await assert.rejects(reply(id, ask.ask_id), { code: 'already_resolved', status: 409 })
    assert.equal(await ending(id), expected)
    const { events } = await the.client.getEvents(id, {
      types: ['permission_resolved', 'question_resolved', 'interrupt_resolved'],
    })
    assert.deepEqual(
      events.map(({ data }) => data.by),
      ['tests'],
    )
  })
}

test('a wrong token', async () => {
  const stranger = new Turnloom({ url: the.daemon.url, token: 'wrong' })
  const refused = { name: 'TurnloomError', code: 'unauthorized', status: 401 }
  await assert.rejects(stranger.listSessions(), refused)
  const id = await the.session()
  await assert.rejects(stranger.streamEvents(id).next(), refused)
  await assert.rejects(stranger.streamView(id).next(), refused)
  await assert.rejects(stranger.streamTurn(id, 'hello').next(), refused)
  assert.equal((await stranger.health()).status, 'ok')
})

test('what makes no sense is refused with a word', async () => {
  const { client } = the
  const id = await the.session()
  await assert.rejects(client.createSession({ runtime: 'nobody' }), { code: 'unknown_runtime' })
  await assert.rejects(client.createSession({ runtime: 'mock', colour: 'red' }), (error) => {
    assert.ok(error instanceof TurnloomError)
    assert.equal(error.code, 'invalid_request')
    assert.match(error.message, /colour/)
    assert.equal(error.problem.status, error.status)
    return true
  })
  await assert.rejects(client.replyPermission(id, 'ask_none', 'once'), { code: 'ask_not_found' })
  await assert.rejects(client.streamEvents(id, { after: 99 }).next(), { code: 'bad_cursor' })
  await assert.rejects(client.streamTurn('nobody', 'hello').next(), { code: 'session_not_found' })
  await assert.rejects(client.getSession(id, { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
})

test('rules: which count, what was learned, what others would change, and the own file', async () => {
  const { client } = the
  const id = await the.session({ mode: 'implement' })
  const turned = turn(id, 'bash npm publish')
  const ask = await eventually('it asks', async () =>
    (await client.listAsks()).find(({ session_id }) => session_id === id),
  )
  const { rule } = ask.request.options.find(({ scope }) => scope === 'session')
  await client.replyPermission(id, ask.ask_id, { reply: 'always', rule })
  await turned
  const policy = await client.getPolicy({ session: id })
  assert.equal(policy.choices[0].name, 'plan')
  assert.deepEqual(await client.getPolicyProblems({ session: id }), [])
  const [learned] = await client.listRules()
  assert.deepEqual([learned.rule, learned.chosen.session_id], [rule, id])
  assert.equal(await client.removeRule(learned.id), undefined)
  await assert.rejects(client.removeRule(learned.id), { code: 'rule_not_found' })

  const added = await client.addOwnRule('effect = "deny"\ncommand = "npm publish"')
  const own = await client.getOwnRules()
  assert.match(own.text, new RegExp(added.id))
  const tried = await client.testRules({ rules: '', sessions: 100 })
  assert.ok(
    tried.changed.some((call) => call.session_id === id && call.old_rule === added.name),
    JSON.stringify(tried),
  )
  await assert.rejects(client.replaceOwnRules({ text: 'x', was: own.sha256 }), { code: 'rules_broken', status: 422 })
  assert.equal((await client.replaceOwnRules({ text: '', was: own.sha256 })).text, '')
  await assert.rejects(client.replaceOwnRules({ text: '', was: own.sha256 }), { code: 'rules_changed', status: 409 })
  assert.ok(Array.isArray(await client.suggestRules()))
})
