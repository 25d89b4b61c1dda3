import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import { daemon } from '../daemon.js'

export default async function () {
  const turnloom = new Turnloom({ url: daemon.url, token: daemon.token })
  const id = 'docs-register'
  const schema = { type: 'object' }
  const description = 'The weather in a city.'
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  //@ docs/sdk.md: const unregister
  for await (const event of turnloom.streamTurn(id, 'client get_weather {"city": "Ghent"}')) {
    if (event.type === 'tool_result') assert.match(event.data.output, /clear/)
  }
  await unregister()
}
