// The line of an agent: it breaks at every moment, the daemon says odd things, and everything is still said once and in order.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { SessionGone } from 'turnloom/agent'

import { connect, eventually } from './agent-support.js'

test('a line that breaks loses nothing and doubles nothing', async (t) => {
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => {
      for (let at = 0; at < 40; at += 1) {
        await session.text(`${prompt.turnId}-${at} `)
        if (at % 7 === 0) await session.committed()
      }
      const answer = await session.waitFor('approval', { action: 'Go on' }, { key: `ask-${prompt.turnId}` })
      await session.text(String(answer))
    }),
  )
  for (const id of ['s1', 's2']) await daemon.open(id)
  const turns = 15
  for (let turn = 0; turn < turns; turn += 1) {
    for (const id of ['s1', 's2']) daemon.prompt(id, `t${turn}`, 'go')
    let cuts = 0
    for (const id of ['s1', 's2']) {
      const begun = daemon.said(id).length
      const isAsked = () => daemon.said(id).find(({ type, turn_id }) => type === 'ask' && turn_id === `t${turn}`)
      await eventually('it asks, however often the line breaks', () => {
        if (cuts < 3 && daemon.said(id).length > begun + 10 * (cuts + 1)) {
          cuts += 1
          // Half of the time the acknowledgements are lost as well.
          daemon.acknowledges = cuts % 2 === 0
          daemon.cut()
          daemon.acknowledges = true
        }
        return isAsked()
      })
      if (turn % 3 === 0) daemon.cut()
      daemon.order(id, { type: 'answer', key: `ask-t${turn}`, ask_id: 'x', by: 'tests', interrupt: { value: turn } })
      if (turn % 4 === 0) daemon.cut()
    }
    for (const id of ['s1', 's2']) await daemon.next(id, 'turn_ended', `t${turn}`)
  }
  for (const id of ['s1', 's2']) {
    const texts = daemon
      .said(id)
      .filter(({ type }) => type === 'delta')
      .map(({ data }) => data.text)
    const expected = Array.from({ length: turns }, (_, turn) => [
      ...Array.from({ length: 40 }, (_, at) => `t${turn}-${at} `),
      `${turn}`,
    ]).flat()
    assert.deepEqual(texts, expected)
    assert.equal(daemon.said(id).filter(({ type }) => type === 'ask').length, turns)
  }
  assert.ok(daemon.hellos.length > 5, 'it was cut often enough to mean something')
  assert.equal(new Set(daemon.hellos.map(({ instance }) => instance)).size, 1)
})

test('what the daemon has not written down is sent again, and only that', async (t) => {
  const { daemon, agent } = await connect(t, (agent) => agent.onTurn(() => undefined))
  await daemon.open('s1')
  const [session] = agent.sessions
  await session.committed()
  daemon.acknowledges = false
  for (const text of ['a', 'b', 'c']) await session.text(text)
  await eventually('it came', () => daemon.of('s1').said === 4)
  // The daemon crashed: what it had not written down is gone.
  daemon.of('s1').said = 2
  daemon.of('s1').heardMessages.length = 2
  daemon.frames.length = 0
  daemon.acknowledges = true
  daemon.cut()
  await session.committed()
  assert.deepEqual(
    daemon.frames.filter(({ n }) => n).map(({ n, data }) => [n, data.text]),
    [
      [3, 'b'],
      [4, 'c'],
    ],
  )
  const { epoch, heard, said } = daemon.hellos.at(-1).sessions[0]
  assert.deepEqual({ epoch, heard, said }, { epoch: 1, heard: 0, said: 4 })
})

test('a session that is gone is dropped without a word', async (t) => {
  let seen
  const { daemon, agent } = await connect(t, (agent) =>
    agent.onTurn(async (session) => {
      await session.text('here')
      await session.waitFor('approval', { action: 'Wait' }).catch((error) => (seen = error.cause))
      await session.text('still here?')
    }),
  )
  await daemon.open('s1')
  await daemon.open('s2')
  daemon.prompt('s1', 'turn_1', 'go')
  await daemon.next('s1', 'ask')
  daemon.of('s1').isGone = true
  const before = daemon.said('s1').length
  daemon.cut()
  await eventually('it is gone', () => seen)
  assert.ok(seen instanceof SessionGone)
  assert.match(seen.message, /another instance/)
  assert.deepEqual(
    agent.sessions.map(({ id }) => id),
    ['s2'],
  )
  daemon.prompt('s2', 'turn_1', 'go')
  await daemon.next('s2', 'ask')
  assert.equal(daemon.said('s1').length, before)
  // The same session again, with the next epoch, begins anew.
  const { n } = await daemon.open('s1')
  assert.equal(n, 1)
})

test('a window is kept to, and who speaks waits', async (t) => {
  const { daemon, agent } = await connect(t, (agent) => agent.onTurn(() => undefined))
  daemon.window = { messages: 4, bytes: 100_000 }
  await eventually('connected', () => daemon.hellos.length > 0)
  daemon.cut()
  await eventually('again, with that window', () => daemon.hellos.length > 1)
  await daemon.open('s1')
  const [session] = agent.sessions
  await session.committed()
  daemon.acknowledges = false
  let taken = 0
  const saying = Promise.all(Array.from({ length: 10 }, (_, at) => session.text(`${at}`).then(() => (taken += 1))))
  await eventually('four have gone out', () => daemon.of('s1').said === 5)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(taken, 4)
  daemon.acknowledges = true
  daemon.send({ type: 'ack', session_id: 's1', n: 5 })
  await saying
  await session.committed()
  assert.deepEqual(
    daemon
      .said('s1')
      .slice(1)
      .map(({ data }) => data.text),
    [...'0123456789'],
  )
  // By size too: two of these do not fit, and one that fits nowhere is refused.
  daemon.acknowledges = false
  const large = [session.text('x'.repeat(60_000)), session.text('y'.repeat(60_000))]
  await eventually('one has gone out', () => daemon.of('s1').said === 12)
  daemon.acknowledges = true
  daemon.send({ type: 'ack', session_id: 's1', n: 12 })
  await Promise.all(large)
  await assert.rejects(session.text('z'.repeat(200_001)), { name: 'RangeError' })
  await session.text('and on')
})

test('pings are answered, and a daemon that says nothing is left', async (t) => {
  const { daemon } = await connect(t, (agent) => agent.onTurn(() => undefined))
  await eventually('connected', () => daemon.hellos.length === 1)
  daemon.send({ type: 'ping', t: 7 })
  await eventually('a pong', () => daemon.frames.some(({ type, t }) => type === 'pong' && t === 7))
  daemon.heartbeat_ms = 10
  daemon.cut()
  await eventually('it comes back, and again when nothing comes', () => daemon.hellos.length > 3)
})

test('odd words of the daemon harm nobody', async (t) => {
  const { daemon, problems } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => session.text(prompt.text)).onCallback('*', () => undefined),
  )
  await daemon.open('s1')
  const odd = [
    '',
    'null',
    '7',
    '[]',
    '{',
    '{"type":7}',
    '{"type":"welcome"}',
    '{"type":"open"}',
    '{"type":"open","session_id":7}',
    '{"type":"new_thing","session_id":"s1","x":1}',
    '{"type":"ack","session_id":"s1"}',
    '{"type":"ack","session_id":"s1","n":-1}',
    '{"type":"ack","session_id":"s1","n":1e99}',
    '{"type":"ack","session_id":"nobody","n":1}',
    '{"type":"refused","session_id":"s1","n":1,"error":{"message":"what is this"}}',
    '{"type":"prompt","session_id":"nobody","o":1}',
    '{"type":"ping"}',
    '{"type":"gone"}',
    '{"type":"close","session_id":"nobody"}',
    '{"type":"open","session_id":"s1","epoch":1,"opening":null}',
  ]
  for (const text of odd) daemon.send(text)
  daemon.ws.send(Buffer.from([1, 2, 3]))
  for (const order of [
    { type: 'prompt' },
    { type: 'prompt', turn_id: 7, messages: 'x' },
    { type: 'steer' },
    { type: 'interrupt', turn_id: [] },
    { type: 'answer' },
    { type: 'answer', key: 'x', interrupt: 7 },
    { type: 'callback' },
    { type: 'callback', component_id: 'x', action: 7 },
    { type: 'state' },
    { type: 'state', state: JSON.parse('{"__proto__":{"x":1}}'), patch: 'x' },
    { type: 'set_model' },
    { type: 'set_mode', mode: {} },
    { type: 'configure' },
    { type: 'compact' },
    { type: 'something_new' },
  ])
    daemon.order('s1', order)
  daemon.order('s1', {
    type: 'prompt',
    turn_id: 'turn_1',
    messages: [null, 7, { message_id: 'm', content: [null, { type: 'text' }, { type: 'text', text: 'fine' }] }],
  })
  await daemon.next('s1', 'turn_ended', 'turn_1')
  assert.equal(daemon.said('s1').findLast(({ type }) => type === 'delta').data.text, 'fine')
  assert.equal({}.x, undefined)
  assert.equal(daemon.hellos.length, 1, 'the line held')
  assert.ok(problems.some(({ kind, message }) => kind === 'refused' && message.includes('what is this')))
  assert.ok(
    problems.every(({ kind }) => ['message', 'refused'].includes(kind)),
    JSON.stringify(problems),
  )
})

test('an order that is missing is asked for by coming back', async (t) => {
  const { daemon } = await connect(t, (agent) => agent.onTurn(async (session, prompt) => session.text(prompt.text)))
  await daemon.open('s1')
  const { orders } = daemon.of('s1')
  const send = daemon.send
  daemon.send = () => undefined
  daemon.prompt('s1', 'turn_1', 'one')
  daemon.send = send
  daemon.prompt('s1', 'turn_2', 'two')
  await daemon.next('s1', 'turn_ended', 'turn_2')
  assert.deepEqual(
    daemon
      .said('s1')
      .filter(({ type }) => type === 'delta')
      .map(({ data }) => data.text),
    ['one', 'two'],
  )
  assert.equal(orders.length, 2)
})

for (const [what, bytes] of Object.entries({
  'a masked frame': [0x81, 0x80, 0, 0, 0, 0],
  'an extension': [0xf1, 0],
  'a frame that there is not': [0x83, 0],
  'a message that goes on without a beginning': [0x80, 0],
  'a long control frame': [0x89, 126, 0, 200],
  'a frame of many exabytes': [0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255],
  'text that is none': [0x81, 1, 0xff],
})) {
  test(`the line comes back after ${what}`, async (t) => {
    const { daemon } = await connect(t, (agent) => agent.onTurn(() => undefined))
    await eventually('connected', () => daemon.hellos.length === 1)
    daemon.ws._socket.write(Buffer.from(bytes))
    await eventually('it comes back', () => daemon.hellos.length === 2)
  })
}

test('messages in pieces, and bytes one by one', async (t) => {
  const { daemon } = await connect(t, (agent) => agent.onTurn(async (session, prompt) => session.text(prompt.text)))
  await daemon.open('s1')
  const text = JSON.stringify({
    type: 'prompt',
    session_id: 's1',
    o: 1,
    turn_id: 'turn_1',
    messages: [{ message_id: 'm', content: [{ type: 'text', text: 'Zwölf Boxkämpfer 🥊' }] }],
  })
  const bytes = Buffer.from(text)
  daemon.ws.send(bytes.subarray(0, 120), { fin: false, binary: false })
  daemon.ws.ping()
  daemon.ws.send(bytes.subarray(120), { fin: true, binary: false })
  await daemon.next('s1', 'turn_ended', 'turn_1')
  assert.equal(daemon.said('s1').find(({ type }) => type === 'delta').data.text, 'Zwölf Boxkämpfer 🥊')
})
