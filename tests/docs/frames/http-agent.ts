import assert from 'node:assert/strict'
import { HttpAgent } from '@ag-ui/client'
import { daemon } from '../daemon.js'

const { token } = daemon

//@ docs/dialects.md: const agent = new HttpAgent

export default async function () {
  agent.messages = [{ id: 'm-1', role: 'user', content: 'echo hello' }]
  const { newMessages } = await agent.runAgent()
  assert.equal(newMessages.at(-1)?.content, 'hello')
}
