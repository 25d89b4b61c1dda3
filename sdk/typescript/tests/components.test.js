// The components of a session, against the real daemon.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { actionsOf, componentsOf, isBuiltin, mergeProps, streamComponents, watchComponents } from 'turnloom'

import { eventually, fixture } from './support.js'

const the = fixture()

async function turn(id, message) {
  for await (const event of the.client.streamTurn(id, message)) void event
}

test('what is shown is told at once and at each change, and what is pressed reaches the agent', async (t) => {
  const { client } = the
  const id = await the.session()
  const told = []
  t.after(watchComponents(client, id, (components) => told.push(components)))
  await eventually('nothing is shown', () => told.length === 1)
  assert.deepEqual(told[0], [])
  await turn(id, 'buttons')
  const [shown] = await eventually('one is shown', () => told.at(-1).length === 1 && told.at(-1))
  assert.equal(shown.surface, 'chat')
  await actionsOf(client, id, shown).callback('throw', { rows: 2 })
  await eventually('it says so', () => told.at(-1)[0].props.text.startsWith('You pressed throw'))
  const before = told.length
  await turn(id, 'echo nothing of this is a component')
  await turn(id, 'component')
  await eventually('another one', () => told.at(-1).length === 2)
  assert.ok(
    told.slice(before).every((components) => components[0] === told[before - 1][0]),
    'the first is the same object',
  )
  assert.ok(
    told.slice(before).every((components) => components.length === 2),
    'what is said is no change of components',
  )
})

test('the props of the last change are what all changes come to', async () => {
  const id = await the.session()
  await turn(id, 'component')
  const { events } = await the.client.getEvents(id, { types: ['component_update'] })
  assert.ok(events.length > 1)
  const merged = events.reduce((props, { data }) => mergeProps(props, data), undefined)
  const [shown] = componentsOf(await the.client.getView(id))
  assert.deepEqual(shown.props, merged)
})

test('a component that somebody waits for is answered', async () => {
  const { client } = the
  const id = await the.session()
  await client.postMessage(id, 'interrupt')
  let shown
  for await (const components of streamComponents(client, id)) {
    shown = components.find(({ waiting }) => waiting !== undefined)
    if (shown) break
  }
  await actionsOf(client, id, shown).resolve('2026-12-24')
  await eventually('the turn goes on', async () => (await client.getSession(id)).status === 'idle')
  assert.ok(componentsOf(await client.getView(id)).every(({ waiting }) => waiting === undefined))
  await assert.rejects(actionsOf(client, id, { ...shown, waiting: undefined }).resolve(1), { name: 'TypeError' })
})

test('only some are told, and a session that is not there is said', async () => {
  const { client } = the
  const id = await the.session()
  await turn(id, 'component')
  for await (const components of streamComponents(client, id, { surface: 'panel' })) {
    assert.deepEqual(components, [])
    break
  }
  const [shown] = componentsOf(await client.getView(id))
  for await (const components of streamComponents(client, id, { names: [shown.name] })) {
    assert.equal(components.length, 1)
    break
  }
  assert.equal(isBuiltin(shown, shown.name), true)
  assert.equal(isBuiltin(shown, 'gallery'), false)
  let error
  watchComponents(client, 'nobody', () => undefined, { onError: (failure) => (error = failure) })
  await eventually('it is said', () => error)
  assert.equal(error.code, 'session_not_found')
})
