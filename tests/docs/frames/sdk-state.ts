import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import { daemon, eventually } from '../daemon.js'

export default async function () {
  const turnloom = new Turnloom({ url: daemon.url, token: daemon.token })
  const id = 'docs-state'
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  await turnloom.postMessage(id, 'buttons')
  const shown = async () => (await turnloom.getEvents(id)).events.find((event) => event.type === 'component_update')
  const { component_id } = (await eventually('a component', shown)).data
  //@ docs/sdk.md: await turnloom.patchState
  assert.deepEqual((await turnloom.getState(id)).state, { rows: 3 })
}
