// What is over all sessions: the list, the asks, the tasks. And what leaves a session: its file, its wire, its pictures. Each stream on both ways.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Turnloom } from 'turnloom'

import { QUICK, asStreamed, eventually, fixture } from './support.js'

const the = fixture()

/** Keeps the newest that a stream gives, until the test ends. */
function newest(t, open) {
  const leave = new AbortController()
  const held = { all: [] }
  const run = async () => {
    for await (const value of open({ signal: leave.signal, reconnect: QUICK })) {
      held.value = value
      held.all.push(value)
    }
  }
  const ended = run().catch((error) => leave.signal.aborted || (held.error = error))
  t.after(async () => {
    leave.abort()
    await ended
  })
  return held
}

// Node has WebSockets of its own from version 22 on, and before that when it is asked for them.
const ways = typeof WebSocket === 'undefined' ? ['sse'] : ['sse', 'websocket']

for (const streams of ways) {
  describe(`by ${streams}`, () => {
    const client = () => new Turnloom({ url: the.daemon.url, token: the.daemon.token, client: 'tests', streams })

    test('the list of sessions, across a restart of the daemon', async (t) => {
      const list = newest(t, (options) => client().streamSessions({ limit: 10, ...options }))
      const status = (id) => list.value?.sessions.find(({ session_id }) => session_id === id)?.status
      const id = await the.session()
      await eventually('it is there', () => status(id) === 'idle')
      await the.client.postMessage(id, 'permission')
      await eventually('it waits', () => status(id) === 'waiting')
      assert.equal(list.value.sessions[0].session_id, id, 'newest activity first')
      await the.daemon.kill()
      await the.daemon.again()
      await eventually('it was interrupted', () => status(id) === 'idle')
      const other = await the.session()
      await eventually('another one', () => status(other) === 'idle')
      await the.client.archiveSession(other)
      await the.client.deleteSession(id)
      await eventually('both left', () => !status(id) && !status(other))
    })

    test('what waits for a person', async (t) => {
      const asks = newest(t, (options) => client().streamAsks(options))
      const id = await the.session()
      const mine = () => asks.value?.filter(({ session_id }) => session_id === id) ?? []
      await the.client.postMessage(id, 'permission')
      const [ask] = await eventually('an ask', () => mine().length === 1 && mine())
      await the.client.replyPermission(id, ask.ask_id, 'once')
      await eventually('it is settled', () => mine().length === 0)
    })

    test('tasks', async (t) => {
      const tasks = newest(t, (options) => client().streamTasks(options))
      await eventually('it begins', () => tasks.all.length > 0)
      assert.equal(tasks.all[0].type, 'connected')
      const id = await the.session()
      const { turn_id } = await the.client.postMessage(id, 'hang')
      const told = (type) => tasks.all.find((event) => event.type === type && event.data.task?.runId === turn_id)
      await eventually('it starts', () => told('task:started'))
      assert.deepEqual(
        (await the.client.listTasks()).map(({ runId }) => runId),
        [turn_id],
      )
      assert.equal((await the.client.getRun(turn_id)).status, 'running')
      assert.equal((await the.client.cancelRun(turn_id)).cancelled, true)
      await eventually('it ends', () => told('task:completed')?.data.task.status === 'cancelled')
      assert.equal((await the.client.getRun(turn_id, { session_id: id })).status, 'cancelled')
    })

    test('events, a view and a turn', async () => {
      const id = await the.session()
      const turn = []
      for await (const { type } of client().streamTurn(id, 'echo on this way')) turn.push(type)
      assert.deepEqual([turn[0], turn.at(-1)], ['user_message', 'done'])
      for await (const view of client().streamView(id)) {
        assert.deepEqual(view, asStreamed(await the.client.getView(id)))
        break
      }
      for await (const { type } of client().streamEvents(id, { types: ['done'] })) {
        assert.equal(type, 'done')
        break
      }
    })
  })
}

test('a view in copies: the same where nothing changed, and equal in the end', async () => {
  const id = await the.session()
  for await (const _ of the.client.streamTurn(id, 'tool')) void _
  const run = (async () => {
    for await (const _ of the.client.streamTurn(id, 'stream 60 20 200')) void _
  })()
  let last
  let shared = 0
  for await (const view of the.client.streamView(id, { copies: true })) {
    if (last) {
      assert.notEqual(view, last)
      assert.equal(view.messages[0], last.messages[0])
      if (view.messages.at(-1) !== last.messages.at(-1)) shared += 1
    }
    last = view
    if (view.session.turn === undefined && view.messages.length === 4) break
  }
  await run
  assert.ok(shared > 0)
  assert.deepEqual(last, asStreamed(await the.client.getView(id)))
})

test('a session leaves as a file and comes back under another name', async () => {
  const { client } = the
  const id = await the.session({ title: 'Away' })
  for await (const _ of client.streamTurn(id, 'big 100000')) void _
  const file = await client.exportSession(id)
  const lines = (await file.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual([lines[0].session_id, lines[0].params.title, lines[1].seq], [id, 'Away', 1])
  assert.ok(lines.at(-1).blob)
  const back = await client.importSession(file, { session_id: 'came-back' })
  assert.equal(back.session_id, 'came-back')
  assert.deepEqual((await client.getView('came-back')).messages.length, (await client.getView(id)).messages.length)
  await assert.rejects(client.importSession('nonsense'), { code: 'broken_file' })
  await assert.rejects(client.exportSession('nobody'), { code: 'session_not_found' })
})

test('the wire of a session', async () => {
  const id = await the.session()
  const lines = []
  let ended = false
  // It is told from the moment on that it is followed, so something is said until it was heard.
  const talk = (async () => {
    while (!ended) for await (const _ of the.client.streamTurn(id, 'echo wired')) void _
  })()
  for await (const line of the.client.streamWire(id, { until: 'idle' })) lines.push(line)
  ended = true
  await talk
  assert.ok(lines.every(({ dir, at_ms }) => ['in', 'out'].includes(dir) && at_ms >= 0))
  assert.match(JSON.stringify(lines), /wired/)
  await assert.rejects(the.client.streamWire('nobody').next(), { code: 'session_not_found' })
})

test('a picture has an address that needs no token, for itself alone', async () => {
  const id = await the.session()
  const bytes = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(30_000, 7)])
  const picture = { type: 'image', media_type: 'image/png', data: bytes.toString('base64') }
  await the.client.postMessage(id, { message: [{ type: 'text', text: 'echo look' }, picture] })
  const [said] = (await the.client.getEvents(id, { types: ['user_message'] })).events
  const blob = said.data.content[1].blob.id
  const url = await the.client.getPictureUrl(blob)
  const shown = await fetch(url, { headers: { accept: 'image/*' } })
  assert.deepEqual([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
  assert.ok(Buffer.from(await shown.arrayBuffer()).equals(bytes))
  for (const wrong of [
    url.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    url.split('?')[0],
    url.replace('until=', 'until=1'),
  ]) {
    assert.equal((await fetch(wrong)).status, 401, wrong)
  }
  const query = url.slice(url.indexOf('?'))
  assert.equal((await fetch(`${the.daemon.url}/api/sessions${query}`)).status, 401)
  await assert.rejects(the.client.getPictureUrl('0'.repeat(64)), { code: 'blob_not_found' })
})

test('where there are only server-sent events, lists are read again when the stream of tasks says that they have changed', async (t) => {
  const asked = []
  const counting = (address, init) => {
    asked.push([new URL(address).pathname, init.headers.accept])
    return fetch(address, init)
  }
  const client = new Turnloom({ url: the.daemon.url, token: the.daemon.token, fetch: counting, listsFromTasks: true })
  const tasks = newest(t, (options) => client.streamTasks(options))
  await eventually('tasks are followed', () => tasks.all.length > 0)
  const list = newest(t, (options) => client.streamSessions({ limit: 10, ...options }))
  const asks = newest(t, (options) => client.streamAsks(options))
  const id = await the.session()
  await the.client.postMessage(id, 'permission')
  const ask = await eventually('it is asked', () => asks.value?.find(({ session_id }) => session_id === id))
  const listed = () => list.value.sessions.find(({ session_id }) => session_id === id)
  await eventually('it waits', () => listed()?.status === 'waiting')
  await the.client.replyPermission(id, ask.ask_id, 'once')
  await eventually('it is settled', () => !asks.value.some(({ session_id }) => session_id === id))
  // What is no turn changes lists too.
  await the.client.updateSession(id, { title: 'another name' })
  await eventually('it has another name', () => listed()?.title === 'another name')
  const held = asked.filter(([, accept]) => accept === 'text/event-stream')
  assert.deepEqual(held, [['/api/tasks/events', 'text/event-stream']], 'one connection is held')
  // While nothing happens, nothing is asked for.
  const before = asked.length
  await client.health()
  assert.equal(asked.length, before + 1)
})

test('the inbox is followed, and what is said of it is told', async (t) => {
  const inbox = newest(t, (options) => the.client.streamInbox(options))
  const id = await the.session()
  await the.client.postMessage(id, 'permission')
  const of = (items) => items?.find(({ session_id }) => session_id === id)
  const item = await eventually('it is asked', () => of(inbox.value?.items))
  assert.deepEqual([item.kind, item.needs_you, item.read, item.ask.kind], ['ask', true, false, 'permission'])
  const { snoozed_until } = await the.client.snoozeInboxItem(item.item_id, { minutes: 30 })
  await eventually('it is out of the way', () => of(inbox.value.snoozed)?.snoozed_until === snoozed_until)
  await the.client.unsnoozeInboxItem(item.item_id)
  await eventually('it is back', () => of(inbox.value.items))
  await the.client.readInboxItem(item.item_id)
  await eventually('it was seen', () => of(inbox.value.items)?.read)
  await the.client.replyPermission(id, item.ask.ask_id, 'once')
  await eventually('it is done', () => of(inbox.value.items)?.kind === 'finished')
  assert.equal((await the.client.readInbox({ session_id: id })).marked, 1)
  await eventually('nothing is left', () => !of(inbox.value.items))
  const done = of((await the.client.getInbox({ all: true })).items)
  await the.client.unreadInboxItem(done.item_id)
  await eventually('it is news again', () => of(inbox.value.items))
  await assert.rejects(the.client.readInboxItem('in_none'), { code: 'inbox_item_not_found' })
  assert.equal((await the.client.updateNotifications({ done: 'all' })).settings.done, 'all')
  assert.equal((await the.client.updateNotifications({ done: null })).settings.done, 'failed')
})
