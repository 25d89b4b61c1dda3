// Tools that answer by themselves, against the real daemon.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Turnloom } from 'turnloom'

import { QUICK, eventually, fixture } from './support.js'

const the = fixture()

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const CALL = 'client get_weather {"city":"Ghent"}'

/** What the agent says in a turn. */
async function turn(id, message) {
  let text = ''
  for await (const { type, data } of the.client.streamTurn(id, message)) if (type === 'delta') text += data.text
  return text
}

const another = (name = 'another') => new Turnloom({ url: the.daemon.url, token: the.daemon.token, client: name })

test('a tool is offered, answers, and is taken back', async (t) => {
  const id = await the.session()
  const other = another().tools(id)
  t.after(() => other.close())
  await other.registerTool('of_another_program', undefined, () => 1)
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  const calls = []
  const unregister = await tools.registerTool(
    'get_weather',
    SCHEMA,
    async ({ city }, { toolUseId, sessionId, signal }) => {
      calls.push([city, typeof toolUseId, sessionId, signal.aborted])
      return { sky: 'clear', nothing: undefined }
    },
    { description: 'The weather in a city.' },
  )
  assert.equal(await turn(id, 'client'), 'Clients run these for me: of_another_program, get_weather.')
  assert.equal(await turn(id, CALL), 'The client says: {"sky":"clear"}')
  assert.equal(await turn(id, CALL), 'The client says: {"sky":"clear"}')
  assert.deepEqual(calls, Array(2).fill(['Ghent', 'string', id, false]))
  await assert.rejects(
    tools.registerTool('get_weather', SCHEMA, () => 1),
    { name: 'TypeError' },
  )
  await unregister()
  await unregister()
  assert.equal(await turn(id, 'client'), 'Clients run these for me: of_another_program.')
})

test('what a tool throws is an error result, and so is what cannot be written down', async (t) => {
  const id = await the.session()
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  const unregister = await tools.registerTool('get_weather', undefined, () => Promise.reject(new Error('no network')))
  assert.equal(await turn(id, CALL), 'It failed: no network')
  await unregister()
  await tools.registerTool('get_weather', undefined, () => ({ large: 1n }))
  assert.match(await turn(id, CALL), /^It failed: .*BigInt/)
})

test('a tool that gives nothing gives null', async (t) => {
  const id = await the.session()
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  await tools.registerTool('get_weather', undefined, () => undefined)
  assert.equal(await turn(id, CALL), 'The client says: null')
})

test('one result counts, however many programs offer the tool', async (t) => {
  const id = await the.session()
  const programs = ['a', 'b', 'c'].map(another)
  for (const program of programs) {
    await program.tools(id).registerTool('get_weather', SCHEMA, () => ({ sky: 'clear' }))
    t.after(() => program.tools(id).close())
  }
  assert.equal(await turn(id, CALL), 'The client says: {"sky":"clear"}')
  const { events } = await the.client.getEvents(id, { types: ['interrupt_resolved', 'tool_result'] })
  assert.deepEqual(
    events.map(({ type }) => type),
    ['interrupt_resolved', 'tool_result'],
  )
})

test('a call that waited before the tool was there is answered', async (t) => {
  const id = await the.session({ client_tools: [{ name: 'get_weather' }] })
  await the.client.postMessage(id, CALL)
  await eventually('it waits', async () => (await the.client.listAsks()).some(({ session_id }) => session_id === id))
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  await tools.registerTool('get_weather', undefined, () => 'late')
  await eventually('it goes on', async () => (await the.client.getSession(id)).status === 'idle')
  const { events } = await the.client.getEvents(id, { types: ['interrupt_resolved'] })
  assert.deepEqual(
    events.map(({ data }) => [data.value, data.by]),
    [['late', 'tests']],
  )
})

test('a tool hears that nobody waits any more', async (t) => {
  const id = await the.session()
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  let signal
  await tools.registerTool('get_weather', undefined, (_, call) => {
    signal = call.signal
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  await the.client.postMessage(id, CALL)
  await eventually('it runs', () => signal)
  await the.client.stop(id)
  await eventually('it is told', () => signal.aborted)
})

test('tools answer again when the daemon has come back', async (t) => {
  const id = await the.session()
  const program = another('comes back')
  t.after(() => program.tools(id).close())
  await program.tools(id).registerTool('get_weather', undefined, () => 'here')
  assert.equal(await turn(id, CALL), 'The client says: here')
  await the.daemon.kill()
  await the.daemon.again()
  await the.client.resumeSession(id)
  let text = ''
  for await (const { type, data } of the.client.streamTurn(id, CALL, { reconnect: QUICK }))
    if (type === 'delta') text += data.text
  assert.equal(text, 'The client says: here')
})

test('a tool that is taken back while it is registered makes room for the next', async (t) => {
  const id = await the.session()
  const tools = the.client.tools(id)
  t.after(() => tools.close())
  const enough = new AbortController()
  const first = tools.registerTool('get_weather', SCHEMA, () => 'first', { signal: enough.signal })
  enough.abort()
  const second = await tools.registerTool('get_weather', SCHEMA, () => 'second')
  await first
  assert.equal(await turn(id, CALL), 'The client says: second')
  await second()
  assert.equal(await turn(id, 'client'), 'No client runs tools for me.')
})

test('a session that takes no tools says so', async () => {
  await assert.rejects(
    the.client.tools('nobody').registerTool('x', undefined, () => 1),
    { code: 'session_not_found' },
  )
})
