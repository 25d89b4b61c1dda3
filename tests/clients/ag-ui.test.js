// AG-UI's own HttpAgent, 1.0 and 0.0.x, unmodified, against the real daemon.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { Daemon, eventually } from '../support/daemon.js'

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

let sessions = 0
const newId = async (params) => {
  const id = `thread-${++sessions}`
  await daemon.session(id, params)
  return id
}

for (const version of ['ag-ui-1', 'ag-ui-0']) {
  const { HttpAgent } = await import(version)

  const agentOf = (id) => new HttpAgent({ url: `${daemon.url}/ag-ui/${id}`, headers: daemon.headers, threadId: id })

  /** One run; what went wrong is kept, not thrown. */
  async function run(agent, options = {}) {
    const seen = { events: [], errors: [], outcome: undefined }
    const subscriber = {
      onEvent: ({ event }) => void seen.events.push(event),
      onRunErrorEvent: ({ event }) => void seen.errors.push(event.message),
      onRunFailed: ({ error }) => void seen.errors.push(String(error)),
      onRunFinishedEvent: ({ event }) => {
        seen.outcome = event.outcome
        seen.usage = event.usage
      },
    }
    await agent.runAgent(options, subscriber).catch((error) => seen.errors.push(String(error)))
    return seen
  }

  let said = 0
  async function say(agent, content, options) {
    agent.addMessage({ id: `${agent.threadId}-u${++said}`, role: 'user', content })
    return run(agent, options)
  }

  const payloads = (yes) => ({
    tool_call: { approved: yes },
    input_required: { answers: [['Silk'], ['Weld']] },
    'turnloom:form': '2026-12-24',
  })

  /** Answers every interrupt until there is none. */
  async function untilDone(agent, seen, yes = true) {
    while (agent.pendingInterrupts.length > 0) {
      const resume = agent.pendingInterrupts.map(({ id, reason }) => ({ interruptId: id, status: 'resolved', payload: payloads(yes)[reason] }))
      seen = await run(agent, { resume })
      assert.deepEqual(seen.errors, [])
    }
    return seen
  }

  const texts = (agent) => agent.messages.filter((message) => message.role === 'assistant' && message.content && !message.subagentRunId)
  const results = (agent) => agent.messages.filter((message) => message.role === 'tool')
  const activity = (agent, type) => agent.messages.find((message) => message.role === 'activity' && message.activityType === type)?.content
  const normal = (agent) => JSON.parse(JSON.stringify(agent.messages))

  describe(version, () => {
    const whole = async (prompt, yes) => {
      const agent = agentOf(await newId())
      const first = await say(agent, prompt)
      assert.deepEqual(first.errors, [])
      const seen = await untilDone(agent, first, yes)
      assert.deepEqual(agent.pendingInterrupts, [])
      return { agent, seen, first }
    }

    test('text and reasoning', async () => {
      const { agent, seen } = await whole('echo hello there')
      assert.equal(texts(agent)[0].content, 'hello there')
      assert.match(agent.messages.find((message) => message.role === 'reasoning').content, /Somebody said something/)
      assert.equal(seen.usage[0].inputTokens, 12)
      assert.equal(agent.messages.filter((message) => message.role === 'user').length, 1)
      assert.equal((await run(agent)).usage, undefined, 'who only looks has used nothing')
      const again = await say(agent, 'echo twice')
      assert.deepEqual(again.errors, [])
      assert.deepEqual(texts(agent).map((message) => message.content), ['hello there', 'twice'])
    })

    test('what others said stands where it was said', async () => {
      const id = await newId()
      const [agent, other] = [agentOf(id), agentOf(id)]
      await say(agent, 'echo one')
      await say(other, 'parallel')
      await daemon.call('POST', `/api/sessions/${id}/message`, { message: 'tool' })
      await eventually('it is idle', async () => (await daemon.show(id)).status === 'idle')
      assert.deepEqual((await say(agent, 'echo three')).errors, [])
      const fresh = agentOf(id)
      assert.deepEqual((await run(fresh)).errors, [])
      assert.deepEqual(normal(agent), normal(fresh))
      const said = agent.messages.filter((message) => message.role === 'user').map((message) => message.content)
      assert.deepEqual(said, ['echo one', 'parallel', 'tool', 'echo three'])
      // The other one, which heard nothing of it, comes back for no more than to look.
      assert.deepEqual((await run(other)).errors, [])
      assert.deepEqual(normal(other), normal(fresh))
    })

    test('tools and parallel tools', async () => {
      const { agent } = await whole('tool')
      assert.equal(results(agent).length, 4)
      const calls = agent.messages.filter((message) => message.toolCalls).flatMap((message) => message.toolCalls)
      assert.deepEqual(JSON.parse(calls[0].function.arguments), { file_path: 'src/loom.rs' })
      const parallel = await whole('parallel')
      assert.deepEqual(results(parallel.agent).map((message) => message.content), ['src/loom.rs:3\n', '2 passed\n', 'warp = 120\n'])
    })

    for (const yes of [true, false]) {
      test(`approval: ${yes}`, async () => {
        const { agent, first } = await whole('permission', yes)
        assert.equal(first.outcome.type ?? first.outcome, 'interrupt')
        assert.equal(texts(agent).at(-1).content, yes ? 'Done, with your permission.' : 'I did not run it: no reason given.')
        assert.equal(results(agent).length, 1)
      })
    }

    for (const [prompt, text] of [
      ['parallel permission', 'Done, with your permission.'],
      ['subagent permission', 'The helper is done.'],
      ['question', 'You chose Silk; Weld.'],
      ['interrupt', 'You gave me "2026-12-24".'],
    ]) {
      test(prompt, async () => {
        const { agent } = await whole(prompt)
        assert.equal(texts(agent).at(-1).content, text)
      })
    }

    test('an answer that is not given', async () => {
      const agent = agentOf(await newId())
      await say(agent, 'permission')
      const [{ id }] = agent.pendingInterrupts
      const seen = await run(agent, { resume: [{ interruptId: id, status: 'cancelled' }] })
      assert.deepEqual(seen.errors, [])
      assert.match(texts(agent).at(-1).content, /I did not run it/)
    })

    test('a tool of the client', async () => {
      const agent = agentOf(await newId())
      const tools = [{ name: 'form', description: 'asks for a day', parameters: { type: 'object', properties: {} } }]
      const first = await say(agent, 'interrupt', { tools })
      assert.deepEqual(first.errors, [])
      assert.deepEqual(agent.pendingInterrupts, [])
      const call = agent.messages.flatMap((message) => message.toolCalls ?? []).at(-1)
      assert.equal(call.function.name, 'form')
      agent.addMessage({ id: 'picked', role: 'tool', toolCallId: call.id, content: '"2026-12-24"' })
      const seen = await run(agent, { tools })
      assert.deepEqual(seen.errors, [])
      assert.equal(texts(agent).at(-1).content, 'You gave me "2026-12-24".')
      assert.deepEqual(results(agent).map((message) => message.content), ['2026-12-24'])
    })

    test('a tool of the client that the agent calls by itself', async () => {
      const id = await newId()
      const agent = agentOf(id)
      const tools = [{ name: 'get_weather', description: 'the weather in a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
      const first = await say(agent, 'client get_weather {"city":"Ghent"}', { tools })
      assert.deepEqual(first.errors, [])
      assert.deepEqual(agent.pendingInterrupts, [])
      const call = agent.messages.flatMap((message) => message.toolCalls ?? []).at(-1)
      assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ['get_weather', { city: 'Ghent' }])
      assert.equal((await daemon.show(id)).status, 'waiting')
      agent.addMessage({ id: 'weather', role: 'tool', toolCallId: call.id, content: 'clear' })
      const seen = await run(agent, { tools })
      assert.deepEqual(seen.errors, [])
      assert.equal(texts(agent).at(-1).content, 'The client says: clear')
      assert.deepEqual(results(agent).map((message) => message.content), ['clear'])
      // Without it, another client is asked to answer in its place.
      await say(agent, 'client get_weather', { tools })
      const other = agentOf(id)
      await run(other)
      assert.equal(other.pendingInterrupts[0].reason, 'turnloom:get_weather')
      const resume = [{ interruptId: other.pendingInterrupts[0].id, status: 'resolved', payload: 'rain' }]
      assert.deepEqual((await run(other, { resume })).errors, [])
      assert.equal(texts(other).at(-1).content, 'The client says: rain')
    })

    test('state that the client writes, and an old copy of it', async () => {
      const id = await newId()
      const agent = agentOf(id)
      agent.state = { rows: 5 }
      assert.deepEqual((await say(agent, 'state')).errors, [])
      assert.match(texts(agent).at(-1).content, /I was told \{"rows":5\}/)
      assert.deepEqual(agent.state, { rows: 6 })
      const stale = agentOf(id)
      stale.state = { rows: 5 }
      stale.messages = agent.messages.filter((message) => message.role === 'user')
      assert.deepEqual((await say(stale, 'echo hello')).errors, [])
      assert.deepEqual(stale.state, { rows: 6 }, 'an old copy does not undo what the agent wrote')
      agent.state = { ...agent.state, colour: 'weld' }
      assert.deepEqual((await say(agent, 'echo hello')).errors, [])
      assert.deepEqual((await daemon.call('GET', `/api/sessions/${id}/state`)).state, { rows: 6, colour: 'weld' })
    })

    test('a sub-agent', async () => {
      const { agent, seen } = await whole('subagent')
      const types = seen.events.map((event) => event.type)
      assert.ok(types.includes('SUBAGENT_STARTED') && types.includes('SUBAGENT_FINISHED'))
      assert.ok(agent.messages.some((message) => message.subagentRunId && message.content === 'Two knots, both harmless.'))
    })

    test('shared state and everything beside the text', async () => {
      const { agent } = await whole('demo')
      assert.deepEqual(agent.state, { rows: 2, colours: ['indigo', 'weld'] })
      assert.equal(activity(agent, 'plan').steps.at(-1).status, 'done')
      assert.equal(activity(agent, 'diff').files.length, 2)
      assert.deepEqual(activity(agent, 'component').props, { data: [3, 5, 8], title: 'Threads', type: 'bar' })
      assert.equal(activity(agent, 'compaction').status, 'done')
    })

    test('a text that is taken back', async () => {
      const { agent } = await whole('retract')
      assert.deepEqual(texts(agent).map((message) => message.content), ['I said it differently in the end.'])
    })

    test('stop', async () => {
      const id = await newId()
      const agent = agentOf(id)
      const running = say(agent, 'hang')
      await eventually('it says something', () => texts(agent).at(-1)?.content === 'Waiting.')
      await daemon.call('POST', `/api/sessions/${id}/stop`)
      assert.deepEqual((await running).errors, [])
    })

    test('an error, also after an answer, and what comes after it', async () => {
      const agent = agentOf(await newId())
      assert.deepEqual((await say(agent, 'error')).errors, ['The model refused the request (401).'])
      assert.deepEqual((await say(agent, 'echo better')).errors, [])
      assert.equal(texts(agent).at(-1).content, 'better')
    })

    test('a request that cannot be granted', async () => {
      const agent = new HttpAgent({ url: `${daemon.url}/ag-ui/new-${version}?runtime=nobody`, headers: daemon.headers, threadId: 'x' })
      const [error] = (await say(agent, 'hello')).errors
      assert.match(error, /400/)
    })

    test('a message while a turn runs waits for its own turn', async () => {
      const id = await newId()
      const first = agentOf(id)
      const hanging = say(first, 'hang')
      await eventually('it runs', () => texts(first).length > 0)
      const second = agentOf(id)
      const queued = say(second, 'echo later')
      await eventually('it waits', async () => (await daemon.show(id)).queued === 1)
      await daemon.call('POST', `/api/sessions/${id}/stop`)
      await hanging
      assert.deepEqual((await queued).errors, [])
      assert.equal(texts(second).at(-1).content, 'later')
      assert.equal(second.messages.filter((message) => message.role === 'user').length, 2)
    })

    test('an answer given elsewhere first is not an error', async () => {
      const id = await newId()
      const agent = agentOf(id)
      await say(agent, 'permission')
      await daemon.answer(id, false)
      const seen = await untilDone(agent)
      assert.deepEqual(seen.errors, [])
      assert.equal(texts(agent).at(-1).content, 'I did not run it: no reason given.')
    })

    test('clients that come at every event of a turn hold the same', async () => {
      const id = await newId({ pace_ms: 4 })
      const first = agentOf(id)
      const running = say(first, 'demo').then((seen) => untilDone(first, seen))
      const all = []
      const coming = []
      for await (const event of daemon.follow(id)) {
        if (event.type === 'done') break
        if (event.turn_id === undefined) continue
        const next = agentOf(id)
        all.push(next)
        // A run without anything new to say is how such a client comes.
        coming.push(run(next).then((seen) => untilDone(next, seen)))
      }
      const seen = await Promise.all([running, ...coming])
      assert.deepEqual(seen.flatMap(({ errors }) => errors), [])
      assert.ok(all.length > 100)
      const expected = agentOf(id)
      await run(expected)
      for (const agent of [first, ...all]) {
        assert.deepEqual(normal(agent), normal(expected))
        assert.deepEqual(agent.state, expected.state)
      }
    })
  })
}
