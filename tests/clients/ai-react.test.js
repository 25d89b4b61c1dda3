// The AI SDK's hook for React, versions 5, 6 and 7, in a page that is rendered into a DOM, against the real daemon.

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { after, before, describe, test } from 'node:test'

import { Window } from 'happy-dom'

import { follow } from '../../examples/use-chat/follow.js'
import { Daemon, eventually } from '../support/daemon.js'

// React looks for a page when it is loaded. What the network is stays Node's.
const window = new Window()
globalThis.window = window
globalThis.document = window.document
globalThis.navigator ??= window.navigator // newer versions of Node have their own
const { StrictMode, createElement: h, useEffect, useRef, useState } = await import('react')
const { createRoot } = await import('react-dom/client')

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(async () => {
  await daemon.stop()
  await window.happyDOM.close()
})

let sessions = 0
const newId = () => `react-${++sessions}`

for (const major of [5, 6, 7]) {
  const ai = await import(`ai-${major}`)
  const { useChat } = await import(`ai-react-${major}`)

  const complete = ai.lastAssistantMessageIsCompleteWithToolCalls
  const automatic = major === 5 ? complete : ai.lastAssistantMessageIsCompleteWithApprovalResponses

  /** A page as an application would have it. */
  function Page({ id, messages, resume, follows }) {
    const input = useRef(null)
    // Nobody clicks before a page is alive; version 7 gives up what was sent before.
    const [alive, setAlive] = useState(false)
    useEffect(() => setAlive(true), [])
    const chat = useChat({
      id,
      messages,
      resume,
      transport: new ai.DefaultChatTransport({
        api: `${daemon.url}/ai-sdk/chat?v=${major}`,
        headers: daemon.headers,
        body: { params: { pace_ms: 0 } },
        prepareReconnectToStreamRequest: () => ({ api: `${daemon.url}/ai-sdk/chat/${id}/stream?v=${major}`, headers: daemon.headers }),
      }),
      sendAutomaticallyWhen: automatic,
    })
    const now = useRef(chat)
    now.current = chat
    useEffect(() => {
      if (follows) return follow({ url: daemon.url, session: id, headers: daemon.headers, chat: () => now.current, query: `?v=${major}` })
    }, [])
    const send = () => void chat.sendMessage({ text: input.current.value })
    const stop = () => void daemon.call('POST', `/ai-sdk/chat/${id}/stop`)
    return h(
      'main',
      null,
      h('output', null, chat.status),
      chat.error && h('p', { role: 'alert' }, chat.error.message),
      chat.messages.map((message) =>
        h('article', { key: message.id, className: message.role }, message.parts.map((part, key) => h(Part, { key, part, chat }))),
      ),
      h('input', { ref: input, disabled: !alive }),
      h('button', { onClick: send }, 'Send'),
      h('button', { onClick: stop }, 'Stop'),
    )
  }

  function Part({ part, chat }) {
    const choice = (answer) => [h('button', { key: 'yes', onClick: () => answer(true) }, 'Allow'), h('button', { key: 'no', onClick: () => answer(false) }, 'Deny')]
    if (part.type === 'text') return h('p', null, part.text)
    if (part.state === 'approval-requested') return choice((approved) => void chat.addToolApprovalResponse({ id: part.approval.id, approved }))
    if (part.type === 'tool-approve_tool' && part.state === 'input-available')
      return choice((approved) => void chat.addToolResult({ tool: 'approve_tool', toolCallId: part.toolCallId, output: { approved } }))
    if (part.type === 'dynamic-tool') return h('code', null, `${part.toolName} ${part.state}`)
    return null
  }

  /** A person in front of a page. */
  function visit(t, props) {
    const place = document.body.appendChild(document.createElement('div'))
    const root = createRoot(place)
    root.render(h(StrictMode, null, h(Page, props)))
    const close = () => {
      root.unmount()
      place.remove()
    }
    t.after(close)
    const all = (selector) => [...place.querySelectorAll(selector)].map((element) => element.textContent)
    const button = (name) => [...place.querySelectorAll('button')].find((element) => element.textContent === name)
    const until = (what, holds) => eventually(what, () => holds(person))
    const click = async (name) => (await until(`a button ${name}`, () => button(name))).click()
    const send = async (text) => {
      const input = await until('the page', () => place.querySelector('input:not([disabled])'))
      input.value = text
      await click('Send')
    }
    const person = {
      close, click, send, until,
      status: () => all('output')[0],
      answer: () => all('article.assistant p').join(''),
      tools: () => all('article.assistant code'),
      has: (name) => button(name) !== undefined,
      alert: () => all('[role=alert]')[0],
      words: () => all('article'),
    }
    return person
  }

  describe(`useChat ${major}`, () => {
    test('two viewers see what the other says and answers', async (t) => {
      const id = newId()
      await daemon.session(id)
      const [one, other] = [visit(t, { id, follows: true }), visit(t, { id, follows: true })]
      await one.send('permission')
      // The ask is shown by both; one answers, and it is gone at the other as well.
      await other.until('the ask', () => other.has('Allow'))
      await one.until('the ask', () => one.has('Allow'))
      await one.click('Allow')
      const done = 'Done, with your permission.'
      await one.until('the answer', () => one.answer() === done && one.status() === 'ready')
      await other.until('the answer, and no ask', () => other.answer() === done && !other.has('Allow') && other.status() === 'ready')
      await other.send('echo and you')
      const both = `${done}and you`
      for (const page of [other, one]) await page.until('both turns', () => page.answer() === both && page.status() === 'ready')
      // A page that hears of a turn while it says something itself may look a second time.
      await one.until('the same words', () => isDeepStrictEqual(one.words(), other.words()))
      // Also what is settled without any page.
      await one.send('permission')
      await other.until('the ask', () => other.has('Deny'))
      await daemon.answer(id, false)
      for (const page of [one, other]) await page.until('it is settled', () => !page.has('Deny') && page.answer().endsWith('I did not run it: no reason given.'))
      assert.equal(one.alert(), undefined)
    })

    test('text', async (t) => {
      const page = visit(t, { id: newId() })
      await page.send('echo hello there')
      await page.until('an answer', () => page.answer() === 'hello there' && page.status() === 'ready')
      await page.send('echo and again')
      await page.until('two answers', () => page.answer() === 'hello thereand again' && page.status() === 'ready')
      assert.equal(page.words().length, 4)
    })

    test('tools', async (t) => {
      const page = visit(t, { id: newId() })
      await page.send('tool')
      await page.until('the end', () => page.status() === 'ready' && page.answer() === 'Three tools worked and one did not.')
      assert.deepEqual(page.tools(), ['Read output-available', 'Edit output-available', 'Bash output-available', 'Bash output-error'])
    })

    for (const [name, words, state] of [
      ['Allow', 'Done, with your permission.', 'output-available'],
      ['Deny', 'I did not run it: no reason given.', major === 5 ? 'output-error' : 'output-denied'],
    ]) {
      test(`an approval: ${name}`, async (t) => {
        const page = visit(t, { id: newId() })
        await page.send('permission')
        await page.click(name)
        await page.until('the rest', () => page.status() === 'ready' && page.answer() === words)
        assert.deepEqual(page.tools(), [`Bash ${state}`])
      })
    }

    test('stop', async (t) => {
      const page = visit(t, { id: newId() })
      await page.send('hang')
      await page.until('it talks', () => page.answer() === 'Waiting.')
      assert.equal(page.status(), 'streaming')
      await page.click('Stop')
      await page.until('it has ended', () => page.status() === 'ready')
      assert.equal(page.alert(), undefined)
    })

    test('a page that is loaded again while a turn runs', async (t) => {
      const id = newId()
      await daemon.session(id)
      const first = visit(t, { id })
      await first.send('echo before')
      await first.until('an answer', () => first.answer() === 'before')
      await first.until('the end', () => first.status() === 'ready')
      await first.send('stream 80 10 200')
      await first.until('it talks', () => first.answer().length > 'before'.length)
      first.close()
      const messages = await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${major}`)
      const second = visit(t, { id, messages, resume: true })
      await second.until('it goes on', () => second.status() === 'streaming')
      await second.until('the end', () => second.status() === 'ready')
      const view = await daemon.call('GET', `/api/sessions/${id}/view`)
      assert.deepEqual(second.words(), view.messages.map((message) => message.content))
      assert.equal(view.messages.at(-1).content.length, 800)
    })

    test('an error, and life after it', async (t) => {
      const page = visit(t, { id: newId() })
      await page.send('error')
      await page.until('an alert', () => page.alert())
      assert.match(page.alert(), /The model refused the request/)
      assert.equal(page.status(), 'error')
      await page.send('echo better')
      await page.until('an answer', () => page.status() === 'ready' && page.answer().endsWith('better'))
      assert.equal(page.alert(), undefined)
    })
  })
}
