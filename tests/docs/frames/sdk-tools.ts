import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import { daemon } from '../daemon.js'

export default async function () {
  const turnloom = new Turnloom({ url: daemon.url, token: daemon.token })
  const id = 'docs-tools'
  //@ docs/sdk.md: await turnloom.createSession
  const { events } = await turnloom.getEvents(id)
  assert.ok(events.some(({ type, data }) => type === 'tool_result' && JSON.stringify(data).includes('clear')))
}
