// Clients that take compressed answers, as `fetch` does, get them whole.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { Daemon, eventually } from '../support/daemon.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

const ENCODINGS = ['gzip', 'deflate, gzip', 'identity']

for (const encoding of ENCODINGS) {
  test(`a turn as plain text: ${encoding}`, async () => {
    const id = `text-${ENCODINGS.indexOf(encoding)}`
    await daemon.session(id)
    const headers = { ...daemon.headers, accept: 'text/plain', 'accept-encoding': encoding, 'content-type': 'application/json' }
    const response = await fetch(`${daemon.url}/api/sessions/${id}/turn`, { method: 'POST', headers, body: '{"message":"echo hello"}' })
    // What is streamed leaves as it is written.
    assert.equal(response.headers.get('content-encoding'), null)
    assert.equal(await response.text(), 'hello\n')
  })

  test(`a long history: ${encoding}`, async () => {
    const id = `long-${ENCODINGS.indexOf(encoding)}`
    await daemon.session(id)
    await daemon.call('POST', `/api/sessions/${id}/message`, { message: `echo ${'word '.repeat(40_000)}` })
    await eventually('the turn ends', async () => (await daemon.show(id)).status === 'idle')
    for (const path of [`/ai-sdk/chat/${id}/messages`, `/ag-ui/${id}/messages`]) {
      const response = await fetch(daemon.url + path, { headers: { ...daemon.headers, 'accept-encoding': encoding } })
      const text = await response.text()
      assert.ok(text.length > 200_000, `${path}: ${text.length}`)
      JSON.parse(text)
    }
  })
}
