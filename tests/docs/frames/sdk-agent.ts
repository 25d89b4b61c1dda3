import assert from 'node:assert/strict'
import { daemon } from '../daemon.js'

process.env.TURNLOOM_URL = daemon.url
const token = 'not a token of an agent'

//@ docs/sdk.md: import { Agent } from 'turnloom/agent'
running.catch(() => undefined)

export default async function () {
  // The program is as it stands; the daemon does not know its token.
  await assert.rejects(running, { name: 'TurnloomError' })
}
