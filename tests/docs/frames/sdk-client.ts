import assert from 'node:assert/strict'
import { Turnloom } from 'turnloom'
import { daemon } from '../daemon.js'

const { url, token } = daemon
const client = 'docs'
const streams = 'sse'
const listsFromTasks = undefined
const worker = undefined
const onUnauthorized = undefined

//@ docs/sdk.md: const turnloom = new Turnloom({ url

export default async function () {
  assert.equal((await turnloom.health()).status, 'ok')
}
