// CopilotKit's own core, unmodified, with the daemon as its runtime.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { Daemon, eventually } from '../support/daemon.js'

// It looks for agents only where there is a page.
globalThis.window ??= globalThis
const { CopilotKitCore } = await import('@copilotkit/core')

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(() => daemon.stop())

let sessions = 0

for (const transport of ['rest', 'single']) {
  describe(`CopilotKit, ${transport}`, () => {
    /** A front end that has found its agents. */
    async function open(id, tools = []) {
      const errors = []
      const core = new CopilotKitCore({ runtimeUrl: `${daemon.url}/ag-ui/copilotkit`, runtimeTransport: transport, headers: daemon.headers, tools })
      core.subscribe({ onError: ({ error, code }) => void errors.push(`${code}: ${error.message}`) })
      const agent = await eventually('the agents are known', () => core.getAgent('mock'))
      agent.threadId = id
      return { core, agent, errors }
    }

    const newId = async (params) => {
      const id = `copilot-${transport}-${++sessions}`
      await daemon.session(id, params)
      return id
    }
    let said = 0
    const say = (agent, content) => agent.addMessage({ id: `u${transport}${++said}`, role: 'user', content })
    const text = (agent) => agent.messages.filter((message) => message.role === 'assistant' && message.content).at(-1)?.content

    test('run, and a second page that connects', async () => {
      const id = await newId()
      const { core, agent, errors } = await open(id)
      assert.ok(core.getAgent('default'))
      say(agent, 'echo hello')
      await core.runAgent({ agent })
      assert.equal(text(agent), 'hello')
      const other = await open(id)
      await other.core.connectAgent({ agent: other.agent })
      await other.core.connectAgent({ agent: other.agent })
      assert.deepEqual(other.agent.messages, agent.messages)
      assert.deepEqual([...errors, ...other.errors], [])
    })

    test('an interrupt is found by who connects, and answered', async () => {
      const id = await newId()
      const first = await open(id)
      say(first.agent, 'permission')
      await first.core.runAgent({ agent: first.agent })
      const { core, agent, errors } = await open(id)
      await core.connectAgent({ agent })
      assert.equal(agent.pendingInterrupts.length, 1)
      const [{ id: interruptId }] = agent.pendingInterrupts
      await core.runAgent({ agent, resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] })
      assert.equal(text(agent), 'Done, with your permission.')
      assert.deepEqual(errors, [])
    })

    test('a tool of the front end', async () => {
      const asked = []
      const tool = {
        name: 'form',
        description: 'asks for a day',
        handler: async (args) => {
          asked.push(args)
          return '2026-12-24'
        },
      }
      const { core, agent, errors } = await open(await newId(), [tool])
      say(agent, 'interrupt')
      await core.runAgent({ agent })
      await eventually('the turn goes on', () => text(agent)?.startsWith('You gave me'))
      assert.equal(asked.length, 1)
      assert.deepEqual(errors, [])
    })

    test('a tool of the front end that the agent calls by itself', async () => {
      const asked = []
      const tool = {
        name: 'get_weather',
        description: 'the weather in a city',
        handler: async (args) => {
          asked.push(args)
          return 'clear'
        },
      }
      const { core, agent, errors } = await open(await newId(), [tool])
      say(agent, 'client get_weather {"city":"Ghent"}')
      await core.runAgent({ agent })
      await eventually('the turn goes on', () => text(agent) === 'The client says: clear')
      assert.deepEqual(asked, [{ city: 'Ghent' }])
      assert.deepEqual(errors, [])
    })

    test('stop ends the run', async () => {
      const id = await newId()
      const { core, agent, errors } = await open(id)
      say(agent, 'hang')
      const running = core.runAgent({ agent })
      await eventually('it runs', () => text(agent) === 'Waiting.')
      core.stopAgent({ agent })
      await eventually('the turn has ended', async () => (await daemon.show(id)).status === 'idle')
      await running
      assert.deepEqual(errors, [])
    })

    test('a connection that is there while a turn runs', async () => {
      const id = await newId({ pace_ms: 4 })
      const first = await open(id)
      say(first.agent, 'tool')
      const running = first.core.runAgent({ agent: first.agent })
      await eventually('it runs', () => first.agent.messages.some((message) => message.toolCalls))
      const { core, agent, errors } = await open(id)
      await core.connectAgent({ agent })
      await running
      assert.deepEqual(agent.messages, first.agent.messages)
      assert.deepEqual(errors, [])
    })
  })
}
