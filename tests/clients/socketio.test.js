// The real socket.io client, as the snapshot protocol's own client uses it, against the real daemon.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { io } from 'socket.io-client'

import { Daemon, eventually } from '../support/daemon.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

const HUB = 'turnloom'

/** A device: what the old gateway client does, and nothing more. */
class Device {
  constructor(deviceId, options = {}) {
    this.id = deviceId
    this.received = []
    this.errors = []
    this.waiting = new Map()
    this.socket = io(daemon.url, { path: '/ws', query: { deviceId, deviceType: 'client' }, forceNew: true, reconnection: false, ...options })
    this.registered = new Promise((resolve) => this.socket.on('registered', resolve))
    this.closed = new Promise((resolve) => this.socket.on('disconnect', resolve))
    this.socket.on('send_error', (error) => this.errors.push(error))
    this.socket.on('receive', (message) => {
      assert.equal(message.to, deviceId)
      if (message.action === 'response') this.waiting.get(message.payload.requestId)?.(message.payload)
      else this.received.push(message)
    })
  }

  send(action, payload, to = HUB) {
    this.socket.emit('send', { id: crypto.randomUUID(), uid: null, from: this.id, to, action, payload })
  }

  call(method, params) {
    const requestId = crypto.randomUUID()
    const answer = new Promise((resolve) => this.waiting.set(requestId, resolve))
    this.send('request', { requestId, method, params })
    return answer
  }

  streamed(type) {
    return this.received.filter((message) => message.action === 'stream' && message.payload.event.type === type).map((message) => message.payload)
  }

  of(action) {
    return this.received.filter((message) => message.action === action).map((message) => message.payload)
  }
}

for (const transports of [['polling', 'websocket'], ['websocket']]) {
  test(`a conversation with an approval, over ${transports.join(' and ')}`, async () => {
    const device = new Device(`d-${transports.length}`, { transports })
    assert.deepEqual(await device.registered, { success: true, deviceId: device.id })
    assert.equal((await device.call('getHubInfo')).error.code, 'UNAUTHORIZED')
    // Who has not shown the token learns nothing, not even who is there.
    assert.match((await device.socket.emitWithAck('ping', 'hi')).error, /verify/)
    assert.deepEqual((await device.socket.emitWithAck('list-devices', {})).devices, [])
    assert.equal((await device.call('verify', { token: 'wrong' })).error.code, 'UNAUTHORIZED')
    const verified = await device.call('verify', { token: daemon.token })
    assert.equal(verified.payload.hubId, HUB)
    assert.deepEqual(await device.socket.emitWithAck('ping', 'hi'), { event: 'pong', data: 'hi' })
    assert.equal((await device.socket.emitWithAck('ping', {})).data, 'pong')
    const { devices } = await device.socket.emitWithAck('list-devices', {})
    assert.ok(devices.some((known) => known.deviceId === device.id))
    assert.equal((await device.call('nope')).error.code, 'METHOD_NOT_FOUND')

    const conversationId = `gateway-${transports.length}`
    const made = await device.call('createConversation', { id: conversationId })
    assert.equal(made.payload.id, conversationId)
    const { agentId } = verified.payload
    device.send('message', { agentId, conversationId, content: 'permission' })
    const [asked] = await eventually('an approval', () => device.of('exec-approval-request').length && device.of('exec-approval-request'))
    assert.deepEqual([asked.agentId, asked.conversationId, asked.expiresAtMs], [agentId, conversationId, -1])
    const allowed = { approvalId: asked.approvalId, decision: 'allow-once' }
    assert.deepEqual((await device.call('resolveExecApproval', allowed)).payload, { ok: true })
    assert.equal((await device.call('resolveExecApproval', allowed)).error.code, 'NOT_FOUND')
    const end = await eventually('the answer', () => device.streamed('message_end').find((payload) => payload.event.stopReason === 'stop'))
    assert.equal(end.event.message.content.at(-1).text, 'Done, with your permission.')
    assert.ok(device.streamed('message_start').some((payload) => payload.streamId === end.streamId))
    assert.equal(device.streamed('tool_execution_start').length, 1)
    assert.equal(device.streamed('tool_execution_end')[0].event.isError, false)
    // A message ends before its tools begin.
    const kinds = device.received.filter((message) => message.action === 'stream').map((message) => message.payload.event.type)
    assert.ok(kinds.indexOf('message_end') < kinds.indexOf('tool_execution_start'))
    const history = (await device.call('getAgentMessages', { agentId, conversationId })).payload
    assert.deepEqual(history.messages.at(-1).content, end.event.message.content)
    assert.equal(history.total, history.messages.length)
    device.socket.disconnect()
  })
}

test('who is there twice, without a name, or says nonsense, is told so', async () => {
  const first = new Device('twin', { extraHeaders: daemon.headers })
  assert.equal((await first.registered).success, true)
  const second = new Device('twin')
  assert.equal((await second.registered).success, false)
  await second.closed
  const nameless = io(daemon.url, { path: '/ws', forceNew: true, reconnection: false })
  await new Promise((resolve) => nameless.on('disconnect', resolve))
  first.socket.emit('send', 'nonsense')
  first.send('message', {}, 'somebody-else')
  first.send('dance', {})
  first.send('message', { agentId: HUB, conversationId: 'nobody', content: 'hi' })
  const codes = await eventually('all are refused', () => first.errors.length === 3 && first.errors.map((error) => error.code))
  assert.deepEqual(codes, ['INVALID_MESSAGE', 'DEVICE_NOT_FOUND', 'INVALID_MESSAGE'])
  const [error] = await eventually('the message is refused', () => first.of('error').length && first.of('error'))
  assert.deepEqual([error.code, error.conversationId], ['NOT_FOUND', 'nobody'])
  first.socket.disconnect()
})

test('a stranger does not keep a device from its name', async () => {
  const stranger = new Device('mine')
  assert.equal((await stranger.registered).success, true)
  const device = new Device('mine')
  assert.equal((await device.registered).success, true)
  assert.equal((await device.call('verify', { token: daemon.token })).payload.hubId, HUB)
  // From here on the name is taken, also for who comes with the token.
  assert.equal((await stranger.call('verify', { token: daemon.token })).error.code, 'REJECTED')
  assert.equal((await new Device('mine').registered).success, false)
  stranger.socket.disconnect()
  device.socket.disconnect()
})

test('the daemon ends while devices are connected', async () => {
  const other = await Daemon.start()
  const socket = io(other.url, { path: '/ws', query: { deviceId: 'last', deviceType: 'client' }, forceNew: true, reconnection: false, transports: ['polling'] })
  await new Promise((resolve) => socket.on('registered', resolve))
  const closed = new Promise((resolve) => socket.on('disconnect', resolve))
  await other.stop()
  await closed
})
