// The AI SDK's own client, versions 5, 6 and 7, unmodified, against the real daemon.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { Daemon, eventually } from '../support/daemon.js'
import { normalMessage } from './support.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

let sessions = 0
const newId = () => `chat-${++sessions}`

async function majors() {
  const found = []
  for (const major of [5, 6, 7]) {
    const [ai, react] = await Promise.all([import(`ai-${major}`), import(`ai-react-${major}`)])
    found.push({ major, ai, react })
  }
  return found
}

/** A chat as an application makes it. */
function chatWith({ major, ai, react }, id, options = {}) {
  const { profile = major, query = '', tools, ...rest } = options
  const seen = { data: [], calls: [], errors: [], requests: 0 }
  const chat = new react.Chat({
    id,
    transport: new ai.DefaultChatTransport({
      api: `${daemon.url}/ai-sdk/chat?v=${profile}${query}`,
      headers: daemon.headers,
      body: { params: { pace_ms: 0 }, tools },
      fetch: (url, init) => {
        seen.requests++
        return fetch(url, init)
      },
    }),
    onData: (part) => seen.data.push(part),
    onToolCall: ({ toolCall }) => void seen.calls.push(toolCall),
    onError: (error) => seen.errors.push(error),
    ...rest,
  })
  return { chat, seen }
}

const last = (chat) => chat.messages.at(-1)
const parts = (chat, type) => last(chat).parts.filter((part) => part.type === type)
const text = (chat) =>
  parts(chat, 'text')
    .map((part) => part.text)
    .join('')
const tools = (chat) => last(chat).parts.filter((part) => part.type === 'dynamic-tool')

/** Nothing went wrong, nothing is left open, and the stored form is valid. */
async function assertSound({ ai }, { chat, seen }) {
  assert.deepEqual(seen.errors, [])
  assert.equal(chat.status, 'ready')
  for (const part of last(chat).parts) assert.notEqual(part.state, 'streaming')
  await ai.validateUIMessages({ messages: chat.messages })
}

for (const client of await majors()) {
  const { major, ai } = client
  const complete = ai.lastAssistantMessageIsCompleteWithToolCalls
  const automatic =
    major === 5
      ? complete
      : ({ messages }) => ai.lastAssistantMessageIsCompleteWithApprovalResponses({ messages }) || complete({ messages })

  /** Answers what the last message asks, as a person would. */
  function answerIn(chat, yes) {
    for (const part of last(chat).parts) {
      if (part.state === 'approval-requested') chat.addToolApprovalResponse({ id: part.approval.id, approved: yes })
      if (part.state !== 'input-available') continue
      const output = {
        'tool-approve_tool': { approved: yes },
        'tool-ask_user': { answers: [['Silk'], ['Weld']] },
        'tool-form': '2026-12-24',
        'tool-get_weather': { sky: 'clear' },
      }[part.type]
      if (output !== undefined) {
        const tool = part.type.slice('tool-'.length)
        void (chat.addToolOutput ?? chat.addToolResult).call(chat, { tool, toolCallId: part.toolCallId, output })
      }
    }
  }

  /** Goes on until the turn is over: the helpers of the client send the answers by themselves. */
  async function untilDone(chat, yes = true) {
    await eventually('the turn ends', async () => {
      if (chat.status === 'error') throw chat.error
      if (chat.status !== 'ready') return false
      const metadata = last(chat).metadata
      const id = chat.id
      if ((await daemon.show(id)).status !== 'waiting') return metadata !== undefined && chat.status === 'ready'
      answerIn(chat, yes)
      return false
    })
  }

  /** Gives answers that come too late, which is how such a client gets the rest. */
  const untilRest = (chat) =>
    eventually('the rest', () => {
      if (chat.status === 'error') throw chat.error
      if (chat.status !== 'ready') return false
      if (last(chat).metadata.usage !== undefined) return true
      answerIn(chat, true)
      return false
    })

  describe(`ai ${major}`, () => {
    const say = async (prompt, options = {}) => {
      const id = newId()
      const made = chatWith(client, id, { sendAutomaticallyWhen: automatic, ...options })
      await made.chat.sendMessage({ text: prompt })
      await untilDone(made.chat, options.yes ?? true)
      await assertSound(client, made)
      return { id, ...made }
    }

    test('a tool of the client that the agent calls by itself', async () => {
      const tool = { description: 'the weather in a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
      const { chat, seen, id } = await say('client get_weather {"city":"Ghent"}', { tools: { get_weather: tool } })
      assert.equal(text(chat), 'The client says: {"sky":"clear"}')
      const [part] = parts(chat, 'tool-get_weather')
      assert.deepEqual([part.state, part.input, part.output], ['output-available', { city: 'Ghent' }, { sky: 'clear' }])
      assert.deepEqual(tools(chat), [], 'it is not shown a second time')
      assert.equal(seen.calls.length, 1)
      const [history] = (await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${major}`)).slice(-1)
      assert.deepEqual(normalMessage(history), normalMessage(last(chat)))
    })

    test('text and reasoning', async () => {
      const { chat, seen, id } = await say('echo hello there')
      assert.equal(text(chat), 'hello there')
      assert.match(parts(chat, 'reasoning')[0].text, /Somebody said something/)
      assert.equal(last(chat).metadata.usage.inputTokens, 12)
      assert.equal(chat.messages.length, 2)
      assert.equal(seen.requests, 1)
      const [user] = (await daemon.events(id)).filter((event) => event.type === 'user_message')
      assert.equal(user.data.message_id, chat.messages[0].id)
    })

    test('tools', async () => {
      const { chat, seen } = await say('tool')
      assert.deepEqual(
        tools(chat).map((part) => [part.toolName, part.state]),
        [
          ['Read', 'output-available'],
          ['Edit', 'output-available'],
          ['Bash', 'output-available'],
          ['Bash', 'output-error'],
        ],
      )
      assert.equal(seen.requests, 1, 'finished tools of the agent are not sent back')
      assert.deepEqual(seen.calls, [], 'the application is not asked to run them')
    })

    test('parallel tools', async () => {
      const { chat } = await say('parallel')
      assert.deepEqual(new Set(tools(chat).map((part) => part.output)), new Set(['warp = 120\n', 'src/loom.rs:3\n', '2 passed\n']))
    })

    for (const yes of [true, false]) {
      test(`approval: ${yes}`, async () => {
        const { chat, seen } = await say('permission', { yes })
        assert.equal(text(chat), yes ? 'Done, with your permission.' : 'I did not run it: no reason given.')
        const [tool] = tools(chat)
        assert.equal(tool.state, yes ? 'output-available' : major === 5 ? 'output-error' : 'output-denied')
        if (major > 5) assert.equal(tool.approval.approved, yes)
        assert.equal(tools(chat).length, 1)
        assert.equal(seen.requests, 2)
      })
    }

    test('an approval while another call runs', async () => {
      const { chat, seen } = await say('parallel permission')
      assert.deepEqual(new Set(tools(chat).map((part) => part.state)), new Set(['output-available']))
      assert.equal(tools(chat).length, 2)
      assert.equal(seen.requests, 2)
    })

    test('an approval inside a sub-agent', async () => {
      const { chat } = await say('subagent permission')
      assert.deepEqual(
        tools(chat).map((part) => [part.toolName, part.output]),
        [
          ['Agent', 'The helper has ended.'],
          ['Bash', 'removed'],
        ],
      )
    })

    test('the profile of version 5 in every client', async () => {
      const { chat } = await say('permission', { profile: 5, sendAutomaticallyWhen: complete })
      assert.equal(text(chat), 'Done, with your permission.')
      assert.deepEqual(parts(chat, 'tool-approve_tool')[0].output, { approved: true })
    })

    test('a question', async () => {
      const { chat } = await say('question')
      assert.equal(text(chat), 'You chose Silk; Weld.')
      assert.equal(parts(chat, 'tool-ask_user')[0].state, 'output-available')
    })

    test('a tool of the client', async () => {
      const { chat, seen } = await say('interrupt')
      assert.equal(text(chat), 'You gave me "2026-12-24".')
      assert.deepEqual(seen.calls.map((call) => call.toolName), ['form'])
    })

    test('a sub-agent', async () => {
      const { chat } = await say('subagent')
      assert.deepEqual(
        tools(chat).map((part) => [part.toolName, part.output, part.preliminary ?? false]),
        [['Agent', 'Two knots, both harmless.', false]],
      )
    })

    test('shared state, plan, diff, component, artifact, compaction', async () => {
      const { chat } = await say('demo')
      const data = Object.fromEntries(last(chat).parts.filter((part) => part.type.startsWith('data-')).map((part) => [part.type, part.data]))
      assert.deepEqual(data['data-state'], { rows: 2, colours: ['indigo', 'weld'] })
      assert.equal(data['data-plan'].steps.at(-1).status, 'done')
      assert.equal(data['data-diff'].files.length, 2)
      assert.deepEqual(data['data-component'].props, { data: [3, 5, 8], title: 'Threads', type: 'bar' })
      assert.equal(data['data-compaction'].status, 'done')
      assert.equal(parts(chat, 'file')[0].mediaType, 'image/png')
    })

    test('a history is what the client holds, and a new page shows it', async () => {
      const { chat, id } = await say('demo')
      const messages = await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${major}`)
      await ai.validateUIMessages({ messages })
      assert.deepEqual(
        messages.map((message) => [message.id, message.role]),
        chat.messages.map((message) => [message.id, message.role]),
      )
      assert.deepEqual(normalMessage(messages[1]), normalMessage(chat.messages[1]))
    })

    test('stop', async () => {
      const id = newId()
      const made = chatWith(client, id)
      const sent = made.chat.sendMessage({ text: 'hang' })
      await eventually('it says something', () => made.chat.messages.length === 2 && text(made.chat) === 'Waiting.')
      assert.deepEqual(await daemon.call('POST', `/ai-sdk/chat/${id}/stop`), { stopped: true })
      await sent
      await assertSound(client, made)
      assert.deepEqual(await daemon.call('POST', `/ai-sdk/chat/${id}/stop`), { stopped: false })
    })

    test('an error', async () => {
      const id = newId()
      const { chat, seen } = chatWith(client, id)
      await chat.sendMessage({ text: 'error' })
      assert.equal(chat.status, 'error')
      assert.match(seen.errors[0].message, /The model refused the request/)
      assert.equal(text(chat), 'This will not end well.')
      await chat.sendMessage({ text: 'echo better' })
      assert.equal(text(chat), 'better')
    })

    test('a request that cannot be granted is a text', async () => {
      const { chat, seen } = chatWith(client, newId(), { query: '&runtime=nobody' })
      await chat.sendMessage({ text: 'hello' })
      assert.equal(chat.status, 'error')
      assert.match(seen.errors[0].message, /^there is no runtime "nobody"/)
    })

    test('a message while a turn runs waits for its own turn', async () => {
      const id = newId()
      const first = chatWith(client, id)
      const hanging = first.chat.sendMessage({ text: 'hang' })
      await eventually('it runs', async () => first.chat.messages.length === 2)
      const second = chatWith(client, id)
      const queued = second.chat.sendMessage({ text: 'echo later' })
      await eventually('it waits', () => second.seen.data.some((part) => part.type === 'data-queue'))
      await daemon.call('POST', `/ai-sdk/chat/${id}/stop`)
      await hanging
      await queued
      assert.equal(text(second.chat), 'later')
      await assertSound(client, second)
      const refused = chatWith(client, id, { query: '&busy=reject' })
      const again = first.chat.sendMessage({ text: 'hang' })
      await eventually('it runs', async () => (await daemon.show(id)).status === 'running')
      await refused.chat.sendMessage({ text: 'echo never' })
      assert.match(refused.seen.errors[0].message, /a turn is running/)
      await daemon.call('POST', `/ai-sdk/chat/${id}/stop`)
      await again
    })

    test('something else is said instead of an answer', async () => {
      const id = newId()
      const made = chatWith(client, id)
      await made.chat.sendMessage({ text: 'permission' })
      await made.chat.sendMessage({ text: 'echo never mind' })
      assert.equal(text(made.chat), 'never mind')
      assert.deepEqual(made.seen.errors, [])
    })

    test('regenerate and edit', async () => {
      const { chat, id, seen } = await say('echo one')
      const first = last(chat).id
      await chat.regenerate()
      assert.equal(text(chat), 'one')
      assert.notEqual(last(chat).id, first)
      await chat.sendMessage({ text: 'echo two', messageId: chat.messages[0].id })
      assert.equal(text(chat), 'two')
      assert.equal(chat.messages.length, 2)
      // The other way to edit: the application changes what it has, and wants it answered.
      chat.messages = [{ ...chat.messages[0], parts: [{ type: 'text', text: 'echo three' }] }]
      await chat.regenerate()
      assert.equal(text(chat), 'three')
      await chat.regenerate()
      assert.equal(text(chat), 'three')
      assert.deepEqual(seen.errors, [])
      const kept = await daemon.call('GET', `/ai-sdk/chat/${id}/messages`)
      assert.deepEqual(kept.map((message) => message.parts.at(-1).text), ['echo three', 'three'])
    })

    test('an answer given elsewhere first is not an error', async () => {
      const id = newId()
      const made = chatWith(client, id, { sendAutomaticallyWhen: automatic })
      await made.chat.sendMessage({ text: 'permission' })
      await daemon.answer(id, false)
      answerIn(made.chat, true)
      await eventually('the rest', () => made.chat.status === 'ready' && text(made.chat) !== '')
      assert.equal(text(made.chat), 'I did not run it: no reason given.')
      assert.deepEqual(made.seen.errors, [])
    })

    for (const prompt of ['permission', 'question', 'interrupt']) {
      test(`a turn that is stopped while "${prompt}" waits is not sent again and again`, async () => {
        const id = newId()
        const made = chatWith(client, id, { sendAutomaticallyWhen: automatic })
        await made.chat.sendMessage({ text: prompt })
        await daemon.call('POST', `/ai-sdk/chat/${id}/stop`)
        // Too late, but the page does not know.
        answerIn(made.chat, true)
        await eventually('the end', () => made.chat.status === 'ready' && made.seen.requests > 1)
        assert.equal(automatic({ messages: made.chat.messages }), false)
        assert.equal(made.seen.requests, 2)
        // In version 6 there is no way to say that its yes came too late.
        if (major !== 6 || prompt !== 'permission') await assertSound(client, made)
        const messages = await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${major}`)
        await ai.validateUIMessages({ messages })
        if (major === 7) assert.deepEqual(normalMessage(messages.at(-1)), normalMessage(last(made.chat)))
      })
    }

    test('a page that goes on in a turn that nobody knows is not answered for ever', async () => {
      const id = newId()
      await daemon.session(id)
      const part = { type: 'tool-ask_user', toolCallId: 'a', state: 'input-available', input: {} }
      const messages = [{ id: 'turn_of_another_daemon', role: 'assistant', parts: [part] }]
      const made = chatWith(client, id, { sendAutomaticallyWhen: automatic, messages })
      answerIn(made.chat, true)
      await eventually('the end', () => made.chat.status === 'ready' && made.seen.requests > 0)
      assert.equal(made.seen.requests, 1)
    })

    test('nothing to resume', async () => {
      const { chat, seen } = chatWith(client, newId())
      await chat.resumeStream()
      assert.equal(chat.status, 'ready')
      assert.deepEqual(seen.errors, [])
    })

    test('clients that come at every event of a turn hold the same', async () => {
      const id = newId()
      await daemon.session(id, { pace_ms: 4 })
      const first = chatWith(client, id, { sendAutomaticallyWhen: automatic })
      const all = [first]
      const responses = [first.chat.sendMessage({ text: 'demo' })]
      let inTime = 0
      for await (const event of daemon.follow(id)) {
        if (event.type === 'done') break
        if (event.turn_id === undefined || event.type === 'user_message') continue
        const next = chatWith(client, id, { sendAutomaticallyWhen: automatic })
        all.push(next)
        responses.push(next.chat.resumeStream())
        if (event.type !== 'status' || event.data.state !== 'waiting') continue
        // The turn goes no further, so everybody comes as far as this. Whoever answers first has answered.
        await Promise.all(responses)
        inTime = all.length
        answerIn(first.chat, true)
      }
      await Promise.all(responses)
      // Under load somebody may find that the turn has ended; but only after the last answer.
      const held = all.filter(({ chat }) => chat.messages.length > 0)
      assert.ok(inTime > 100 && held.length >= inTime, `${held.length} of ${all.length} came in time, ${inTime} before the last answer`)
      for (const made of held) {
        await untilRest(made.chat)
        await assertSound(client, made)
        assert.deepEqual(normalMessage(last(made.chat)), normalMessage(last(first.chat)))
      }
    })

    for (const prompt of ['permission', 'question', 'parallel permission', 'subagent permission', 'interrupt']) {
      test(`a client that comes while "${prompt}" waits can answer`, async () => {
        const id = newId()
        const first = chatWith(client, id)
        await first.chat.sendMessage({ text: prompt })
        const later = chatWith(client, id, { sendAutomaticallyWhen: automatic })
        await later.chat.resumeStream()
        await untilDone(later.chat)
        await assertSound(client, later)
        const history = await daemon.call('GET', `/ai-sdk/chat/${id}/messages?v=${major}`)
        assert.deepEqual(normalMessage(last(later.chat)), normalMessage(history.at(-1)))
      })
    }
  })
}
