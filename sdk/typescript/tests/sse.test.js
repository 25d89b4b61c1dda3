import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createParser } from 'turnloom/sse'

test('a stream is read however it is cut', () => {
  const stream =
    ': connected\n\nid: 4\nevent: ops\ndata: {"seq":4}\n\nevent: heartbeat\r\ndata: {"head":4}\r\n\r\ndata: a\ndata: b\n\n'
  const events = [
    { event: 'ops', id: '4', data: '{"seq":4}' },
    { event: 'heartbeat', id: '4', data: '{"head":4}' },
    { event: 'message', id: '4', data: 'a\nb' },
  ]
  for (let cut = 0; cut <= stream.length; cut++) {
    const parse = createParser()
    assert.deepEqual([...parse(stream.slice(0, cut)), ...parse(stream.slice(cut))], events)
  }
})
