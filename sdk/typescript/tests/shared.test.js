// What clients write besides messages and answers: shared state, components, and the results of tools they run.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { eventually, fixture } from './support.js'

const the = fixture()

test('the state is read, patched and shared with the agent', async () => {
  const { client } = the
  const id = await the.session()
  assert.deepEqual(await client.getState(id), { state: {}, seq: 0 })
  const patched = await client.patchState(id, [{ op: 'add', path: '/rows', value: 3 }])
  assert.deepEqual(patched.state, { rows: 3 })
  const { events } = await client.getEvents(id, { types: ['state_delta'] })
  assert.deepEqual(
    events.map(({ seq, data }) => [seq, data.by]),
    [[patched.seq, 'tests']],
  )
  for await (const { type } of client.streamTurn(id, 'state')) if (type === 'state_delta') break
  assert.deepEqual((await client.getState(id)).state, { rows: 4 })
  await assert.rejects(client.patchState(id, [{ op: 'test', path: '/rows', value: 3 }]), {
    code: 'test_failed',
    status: 409,
  })
  await assert.rejects(client.patchState(id, [{ op: 'remove', path: '/warp' }]), { code: 'invalid_patch', status: 422 })
  assert.deepEqual((await client.getState(id)).state, { rows: 4 })
})

test('what is pressed in a component reaches the agent', async () => {
  const { client } = the
  const id = await the.session()
  await assert.rejects(client.callBack(id, 'none', { action: 'throw' }), { code: 'component_not_found', status: 404 })
  for await (const _ of client.streamTurn(id, 'buttons')) void _
  // In the conversation, a component is a block.
  const shown = async () =>
    (await client.getView(id)).messages.flatMap(({ blocks }) => blocks).find(({ kind }) => kind === 'component')
  const { component_id } = await shown()
  const noted = await client.callBack(id, component_id, { action: 'throw', payload: { rows: 2 } })
  const { events } = await client.getEvents(id, { types: ['component_callback'] })
  assert.deepEqual(
    events.map(({ seq, data }) => [seq, data.action, data.payload]),
    [[noted.seq, 'throw', { rows: 2 }]],
  )
  await eventually('the component says so', async () => (await shown()).props.text.startsWith('You pressed throw'))
})

const TOOL = { name: 'get_weather', description: 'The weather in a city.', input_schema: { type: 'object' } }

/** Runs a turn in which the agent calls the tool, and gives what it said in the end. */
async function withTool(id, message, result) {
  let text = ''
  for await (const { type, data } of the.client.streamTurn(id, message)) {
    if (type === 'interrupt') {
      assert.deepEqual([data.component_name, data.props], ['get_weather', { city: 'Ghent' }])
      assert.equal((await the.client.giveToolResult(id, data.tool_use_id, result)).resolved, true)
      await assert.rejects(the.client.giveToolResult(id, data.tool_use_id, result), {
        code: 'already_resolved',
        status: 409,
      })
    }
    if (type === 'delta') text += data.text
  }
  return text
}

test('a client runs a tool, and may fail', async () => {
  const id = await the.session({ client_tools: [TOOL] })
  const call = 'client get_weather {"city":"Ghent"}'
  assert.equal(await withTool(id, call, { output: { sky: 'clear' } }), 'The client says: {"sky":"clear"}')
  assert.equal(await withTool(id, call, { output: 'no network', is_error: true }), 'It failed: no network')
  await assert.rejects(the.client.giveToolResult(id, 'none', { output: 1 }), {
    code: 'tool_call_not_found',
    status: 404,
  })
})

test('the tools of a session are changed', async () => {
  const id = await the.session()
  assert.equal(await withTool(id, 'client'), 'No client runs tools for me.')
  await the.client.updateSession(id, { settings: { client_tools: [TOOL] } })
  assert.equal(await withTool(id, 'client'), 'Clients run these for me: get_weather.')
  await assert.rejects(the.client.updateSession(id, { settings: { client_tools: [{ name: 'two words' }] } }), {
    code: 'invalid_request',
  })
})
