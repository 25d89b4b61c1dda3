import assert from 'node:assert/strict'

//@ docs/webhooks.md: import { createHmac, timingSafeEqual }

export default async function () {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const [id, timestamp, body] = ['msg_1', String(Math.floor(Date.now() / 1000)), '{"type":"turn.completed"}']
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,AAAA ${signature}` }
  assert.equal(verify(secret, headers, body), true)
  assert.equal(verify(secret, headers, `${body} `), false)
  assert.equal(verify(secret, { ...headers, 'webhook-timestamp': '1' }, body), false)
}
