import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import { daemon } from '../daemon.js'

export default async function () {
  const turnloom = new Turnloom({ url: daemon.url, token: daemon.token })
  const id = 'docs-streams'
  const { signal } = new AbortController()
  await turnloom.createSession({ session_id: id, runtime: 'mock', params: { pace_ms: 0 } })
  // So that there is an event behind the position that the page goes on from.
  for await (const _ of turnloom.streamTurn(id, 'stream 60 10 2000')) continue
  let heard = 0
  const enough = () => ++heard > 0
  //@ docs/sdk.md: for await (const event of turnloom.streamEvents
  assert.equal(heard, 6)
}
