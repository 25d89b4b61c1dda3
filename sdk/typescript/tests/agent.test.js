// An agent against a daemon that speaks the contract: turns, asks, components, state, stops, and a line that breaks.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, SessionGone, Stopped, Withdrawn } from 'turnloom/agent'

import { AgentDaemon, connect, eventually } from './agent-support.js'

/** What was said, without what is always the same. */
const words = (messages) => messages.map(({ type, data }) => [type, data])
const types = (messages) => messages.map(({ type }) => type)

test('a whole turn', async (t) => {
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => {
      await session.text(`You said ${prompt.text}. `)
      await session.text('Looking.')
      const hits = await session.tool('search', { q: 'x' }, async (tool) => {
        await tool.progress('3 found', 0.5)
        return { hits: 3 }
      })
      await session.thinking(`${hits.hits} of them`)
      await session.component('sales', 'chart', 'chat', { type: 'bar', data: [] })
      await session.append('sales', { data: [{ region: 'N', sales: 7 }] })
      await session.text('Done.')
      await session.usage({ input_tokens: 1, output_tokens: 2 })
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'Sales?')
  await daemon.next('s1', 'turn_ended')
  const said = daemon.said('s1')
  assert.deepEqual(types(said), [
    'ready',
    'delta',
    'delta',
    'tool_start',
    'tool_progress',
    'tool_result',
    'thinking',
    'component_update',
    'component_update',
    'delta',
    'usage',
    'turn_ended',
  ])
  assert.deepEqual(
    said.map(({ n }) => n),
    said.map((_, at) => at + 1),
  )
  assert.ok(said.slice(1).every(({ turn_id, session_id }) => turn_id === 'turn_1' && session_id === 's1'))
  const [, first, second, start, , result, , shown, grown, last] = said.map(({ data }) => data)
  assert.equal(first.text, 'You said Sales?. ')
  assert.equal(first.block_id, second.block_id)
  assert.notEqual(first.block_id, last.block_id, 'something else stood between')
  assert.deepEqual([result.tool_use_id, result.output, result.is_error], [start.tool_use_id, '{"hits":3}', false])
  assert.deepEqual(shown, {
    component_id: 'sales',
    name: 'chart',
    surface: 'chat',
    props: { type: 'bar', data: [] },
    merge: false,
    mode: 'replace',
  })
  assert.deepEqual([grown.mode, grown.merge, grown.name, grown.surface], ['append', true, 'chart', 'chat'])
  assert.deepEqual(said.at(-1).data, { outcome: 'completed' })
  await eventually('the orders are heard', () => daemon.of('s1').heard === 1)
})

test('the agent says who it is, and sends no origin', async (t) => {
  const { daemon } = await connect(t, (agent) => agent.onTurn(() => undefined), {
    title: 'Research',
    version: '1.4.0',
    maxSessions: 50,
  })
  await eventually('a hello', () => daemon.hellos.length === 1)
  const [{ instance, sdk, ...hello }] = daemon.hellos
  assert.deepEqual(hello, {
    type: 'hello',
    protocol: 1,
    agent: 'research',
    title: 'Research',
    version: '1.4.0',
    max_sessions: 50,
    sessions: [],
    capabilities: { steer: true, components: true, state: true, questions: true },
  })
  assert.ok(instance && sdk)
  assert.equal(daemon.request.headers.authorization, 'Bearer secret')
  assert.equal(daemon.request.headers.origin, undefined)
  assert.equal(daemon.request.url, '/api/agents/connect')
})

test('components change in every way', async (t) => {
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session) => {
      await session.component('plan', 'plan_editor', 'sidebar', { steps: [] }, { status: 'loading' })
      await session.merge('plan', { steps: ['a'] }, { status: 'ready', surface: 'panel' })
      await session.deep('plan', { title: null })
      await session.patch('plan', [{ op: 'add', path: '/steps/-', value: 'b' }])
      await session.merge('somewhere', { a: 1 })
      await session.remove('plan')
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  await daemon.next('s1', 'turn_ended')
  const plan = { component_id: 'plan', name: 'plan_editor' }
  assert.deepEqual(words(daemon.said('s1')).slice(1, -1), [
    [
      'component_update',
      { ...plan, surface: 'sidebar', props: { steps: [] }, status: 'loading', merge: false, mode: 'replace' },
    ],
    [
      'component_update',
      { ...plan, surface: 'panel', props: { steps: ['a'] }, status: 'ready', merge: true, mode: 'shallow' },
    ],
    ['component_update', { ...plan, surface: 'panel', props: { title: null }, merge: true, mode: 'deep' }],
    [
      'component_update',
      {
        ...plan,
        surface: 'panel',
        props: {},
        patch: [{ op: 'add', path: '/steps/-', value: 'b' }],
        merge: true,
        mode: 'patch',
      },
    ],
    ['component_update', { component_id: 'somewhere', props: { a: 1 }, merge: true, mode: 'shallow' }],
    ['component_remove', { component_id: 'plan' }],
  ])
})

test('asks wait for their answers', async (t) => {
  const got = []
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session) => {
      got.push(
        await session.waitFor('approval', { action: 'Send' }, { key: 'a1', surface: 'overlay', actions: ['choose'] }),
      )
      got.push(
        await session.question([{ prompt: 'Which?', options: [], multiple: false, free_text: true }], { key: 'a2' }),
      )
      got.push(await session.question([], { key: 'a3' }))
      got.push(await session.permission({ toolName: 'rm', toolInput: {} }, { key: 'a4' }))
      got.push(await session.permission({ toolName: 'rm', toolInput: {} }, { key: 'a5' }))
      got.push(await session.callTool('get_weather', { city: 'Ghent' }, { key: 'a6' }))
      await assert.rejects(session.callTool('get_weather', {}, { key: 'a7' }), { message: 'no sky' })
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  const answers = {
    a1: { interrupt: { value: { approved: true } } },
    a2: { question: { answers: [['Silk', 7]] } },
    a3: { question: { answers: null } },
    a4: { permission: { reply: 'once', updated_input: { x: 1 } } },
    a5: { permission: { reply: 'maybe' } },
    a6: { tool: { output: { sky: 'clear' }, is_error: false } },
    a7: { tool: { output: 'no sky', is_error: true } },
  }
  for (const [key, answer] of Object.entries(answers)) {
    const { data } = await eventually(key, () =>
      daemon.said('s1').find(({ type, data }) => type === 'ask' && data.key === key),
    )
    if (key === 'a1')
      assert.deepEqual(data, {
        key,
        interrupt: { component_name: 'approval', props: { action: 'Send' }, surface: 'overlay', actions: ['choose'] },
      })
    daemon.order('s1', { type: 'answer', key: 'nobody', ask_id: 'x', by: 'tests', interrupt: { value: 1 } })
    daemon.order('s1', { type: 'answer', key, ask_id: 'x', by: 'tests', ...answer })
  }
  const { data } = await daemon.next('s1', 'turn_ended')
  assert.deepEqual(data, { outcome: 'completed' })
  assert.deepEqual(got, [
    { approved: true },
    [['Silk']],
    undefined,
    { reply: 'once', updated_input: { x: 1 } },
    { reply: 'reject' },
    { sky: 'clear' },
  ])
  const results = daemon.said('s1').filter(({ type }) => type === 'tool_result')
  assert.deepEqual(
    results.map(({ data }) => [data.output, data.is_error]),
    [
      ['{"sky":"clear"}', false],
      ['no sky', true],
    ],
  )
})

test('an ask is taken back by its signal, and its turn goes on', async (t) => {
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session) => {
      const enough = new AbortController()
      const asked = session.waitFor('form', { schema: {} }, { key: 'a1', signal: enough.signal })
      await session.committed()
      enough.abort(new Error('enough'))
      await assert.rejects(asked, { message: 'enough' })
      await session.text('on')
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  assert.deepEqual((await daemon.next('s1', 'turn_ended')).data, { outcome: 'completed' })
  assert.equal((await daemon.next('s1', 'ask_withdrawn')).data.key, 'a1')
})

test('a stop is a signal, ends what waits, and the turn', async (t) => {
  const seen = []
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => {
      prompt.signal.addEventListener('abort', () => seen.push('signal'))
      try {
        await session.waitFor('approval', { action: 'Wait' })
      } catch (error) {
        seen.push(error instanceof Withdrawn && error instanceof Stopped)
        await assert.rejects(session.text('late'), Stopped)
        throw error
      } finally {
        seen.push('finally')
      }
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  await daemon.next('s1', 'ask')
  daemon.order('s1', { type: 'interrupt', turn_id: 'turn_1', reason: 'the person stopped it' })
  const { data } = await daemon.next('s1', 'turn_ended')
  assert.deepEqual(data, { outcome: 'interrupted', reason: 'the person stopped it' })
  assert.deepEqual(seen, ['signal', true, 'finally'])
  assert.ok(!types(daemon.said('s1')).includes('delta'))
  daemon.prompt('s1', 'turn_2', 'go')
  await eventually('the next one runs', () =>
    daemon.said('s1').some(({ type, turn_id }) => type === 'ask' && turn_id === 'turn_2'),
  )
})

test('work that does not heed a stop says the rest into the void', async (t) => {
  let goOn
  let late
  const { daemon } = await connect(
    t,
    (agent) =>
      agent.onTurn(async (session, prompt) => {
        if (prompt.text !== 'deaf') return session.text('here')
        await new Promise((resolve) => (goOn = resolve))
        late = session.text('much later').catch((error) => error)
      }),
    { stopGraceMs: 10 },
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'deaf')
  await eventually('it works', () => goOn)
  daemon.order('s1', { type: 'interrupt', turn_id: 'turn_1' })
  assert.equal((await daemon.next('s1', 'turn_ended', 'turn_1')).data.outcome, 'interrupted')
  daemon.prompt('s1', 'turn_2', 'next')
  await daemon.next('s1', 'turn_ended', 'turn_2')
  goOn()
  assert.ok((await eventually('it speaks', () => late)) instanceof Stopped)
  assert.deepEqual(
    daemon
      .said('s1')
      .filter(({ type }) => type === 'delta')
      .map(({ data, turn_id }) => [turn_id, data.text]),
    [['turn_2', 'here']],
  )
})

test('a session as a loop: each turn ends when the next is asked for', async (t) => {
  const calls = []
  const { daemon } = await connect(t, (agent) =>
    agent.onSession(async (session) => {
      calls.push('called')
      for await (const prompt of session) {
        await session.text(prompt.text)
        if (prompt.text === 'throw') throw Object.assign(new Error('broken'), { code: 'no_luck' })
        if (prompt.text === 'leave') break
      }
    }),
  )
  await daemon.open('s1')
  for (const [at, text] of ['one', 'throw', 'two', 'leave', 'three'].entries()) {
    daemon.prompt('s1', `turn_${at}`, text)
    await daemon.next('s1', 'turn_ended', `turn_${at}`)
  }
  const ends = daemon.said('s1').filter(({ type }) => type === 'turn_ended')
  assert.deepEqual(
    ends.map(({ data }) => data),
    [
      { outcome: 'completed' },
      { outcome: 'failed', failure: { message: 'broken', code: 'no_luck', retryable: false } },
      { outcome: 'completed' },
      { outcome: 'completed' },
      { outcome: 'completed' },
    ],
  )
  assert.equal(calls.length, 3)
})

test('a function that takes no messages is not called for ever', async (t) => {
  let calls = 0
  const { daemon } = await connect(t, (agent) => agent.onSession(() => void (calls += 1)))
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'hello?')
  assert.equal((await daemon.next('s1', 'turn_ended')).data.outcome, 'failed')
  assert.equal(calls, 2)
})

test('a turn that is stopped before it began does not begin', async (t) => {
  let goOn
  const begun = []
  const { daemon } = await connect(t, (agent) =>
    agent.onTurn(async (_, prompt) => {
      begun.push(prompt.text)
      if (prompt.text === 'first') await new Promise((resolve) => (goOn = resolve))
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'first')
  await eventually('it works', () => goOn)
  daemon.prompt('s1', 'turn_2', 'second')
  daemon.order('s1', { type: 'interrupt', turn_id: 'turn_2', reason: 'no' })
  daemon.order('s1', { type: 'configure', settings: {} })
  await eventually('all is heard', () => daemon.of('s1').heard === 4)
  goOn()
  assert.equal((await daemon.next('s1', 'turn_ended', 'turn_2')).data.outcome, 'interrupted')
  assert.deepEqual(begun, ['first'])
})

test('steers, callbacks, and what else a person does', async (t) => {
  const seen = []
  const { daemon, problems } = await connect(t, (agent) =>
    agent
      .onTurn(async (session, prompt) => {
        for await (const press of session.callbacks()) {
          seen.push([press.action, press.payload, press.by])
          break
        }
        seen.push(['more', ...prompt.more.map(({ message_id }) => message_id)])
      })
      .onCallback('approve_step', (_, press) => seen.push(['handled', press.component_id]))
      .onCallback('broken', () => {
        throw new Error('no such step')
      })
      .onModel((_, model) => seen.push(['model', model]))
      .onMode((_, mode) => seen.push(['mode', mode]))
      .onSettings((_, settings) => seen.push(['settings', settings]))
      .onRollback((_, { turn_ids }) => ({ filesRestored: turn_ids.length === 1 })),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  daemon.order('s1', { type: 'steer', turn_id: 'turn_1', message: { message_id: 'm2', content: [], origin: 'user' } })
  await daemon.next('s1', 'steer_delivered')
  daemon.order('s1', { type: 'steer', turn_id: 'turn_0', message: { message_id: 'm3', content: [], origin: 'user' } })
  assert.deepEqual((await daemon.next('s1', 'steer_rejected')).data, { message_id: 'm3', reason: 'the turn is over' })
  daemon.order('s1', {
    type: 'callback',
    component_id: 'plan',
    name: 'plan_editor',
    action: 'approve_step',
    payload: {},
    by: 'a',
  })
  daemon.order('s1', { type: 'callback', component_id: 'plan', action: 'broken', payload: {}, by: 'a' })
  daemon.order('s1', { type: 'set_model', model: 'm' })
  daemon.order('s1', { type: 'set_mode', mode: 'fast' })
  daemon.order('s1', { type: 'configure', settings: { a: 1 } })
  daemon.order('s1', { type: 'callback', component_id: 'plan', action: 'other', payload: { x: 1 }, by: 'ann' })
  await daemon.next('s1', 'turn_ended')
  daemon.send({ type: 'rollback', session_id: 's1', turn_ids: ['turn_1'], kept: 0, restore_files: true })
  assert.deepEqual((await daemon.next('s1', 'rolled_back')).data, { files_restored: true, branched: false })
  daemon.order('s1', { type: 'compact', turn_id: 'turn_9' })
  assert.match((await daemon.next('s1', 'turn_ended', 'turn_9')).data.failure.message, /cannot compact/)
  assert.deepEqual(seen, [
    ['handled', 'plan'],
    ['model', 'm'],
    ['mode', 'fast'],
    ['settings', { a: 1 }],
    ['other', { x: 1 }, 'ann'],
    ['more', 'm2'],
  ])
  assert.deepEqual(
    problems.map(({ kind, message }) => [kind, message]),
    [['handler', 'no such step']],
  )
})

test('a steer may be refused', async (t) => {
  let goOn
  const { daemon } = await connect(t, (agent) =>
    agent
      .onTurn(() => new Promise((resolve) => (goOn = resolve)))
      .onSteer(() => {
        throw new Error('too late')
      }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  await eventually('it works', () => goOn)
  daemon.order('s1', { type: 'steer', turn_id: 'turn_1', message: { message_id: 'm2', content: [], origin: 'user' } })
  assert.deepEqual((await daemon.next('s1', 'steer_rejected')).data, { message_id: 'm2', reason: 'too late' })
  goOn()
})

test('the shared state: one patch for what is different, and both sides change it', async (t) => {
  const changes = []
  const { daemon, agent } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => {
      const { state } = session
      if (prompt.text === 'first') {
        state.onChange(({ by, value, dropped }) => changes.push([by, structuredClone(value), dropped]))
        state.value.city = 'Ghent'
        state.value.rows.push(4)
        await state.flush()
        await state.flush()
        state.value.draft = true
      } else await state.flush()
    }),
  )
  await daemon.open('s1', {}, { state: { rows: [3] } })
  daemon.prompt('s1', 'turn_1', 'first')
  await daemon.next('s1', 'turn_ended')
  const deltas = () =>
    daemon
      .said('s1')
      .filter(({ type }) => type === 'state_delta')
      .map(({ data }) => data.patch)
  assert.deepEqual(deltas(), [
    [
      { op: 'add', path: '/rows/1', value: 4 },
      { op: 'add', path: '/city', value: 'Ghent' },
    ],
  ])
  daemon.order('s1', { type: 'state', state: { rows: [3, 4], city: 'Bruges' }, patch: [], by: 'ann' })
  daemon.prompt('s1', 'turn_2', 'second')
  await daemon.next('s1', 'turn_ended', 'turn_2')
  assert.deepEqual(changes, [['ann', { rows: [3, 4], city: 'Bruges', draft: true }, false]])
  assert.deepEqual(deltas().at(-1), [{ op: 'add', path: '/draft', value: true }])
  // What does not fit any more is dropped, and said.
  const [{ state }] = agent.sessions
  state.value.rows[1] = 5
  daemon.order('s1', { type: 'state', state: { rows: [] }, by: 'ben' })
  await eventually('it is told', () => changes.length === 2)
  assert.deepEqual(changes[1], ['ben', { rows: [] }, true])
  daemon.order('s1', { type: 'state', state: 'nonsense', by: 7 })
  await eventually('it is told', () => changes.length === 3)
  assert.deepEqual(state.value, {})
})

test('a change that is on its way is not lost when somebody else changes the state', async (t) => {
  const { daemon, agent } = await connect(t, (agent) => agent.onTurn(() => undefined))
  await daemon.open('s1', {}, { state: { a: 1 } })
  const [{ state }] = agent.sessions
  daemon.acknowledges = false
  state.value.mine = true
  await state.flush()
  daemon.order('s1', { type: 'state', state: { a: 2 }, by: 'ann' })
  await eventually('it came', () => state.value.a === 2)
  assert.deepEqual(state.value, { a: 2, mine: true })
  state.value.more = 1
  await state.flush()
  await eventually('two patches', () => daemon.said('s1').filter(({ type }) => type === 'state_delta').length === 2)
  assert.deepEqual(daemon.said('s1').at(-1).data.patch, [{ op: 'add', path: '/more', value: 1 }])
})

test('sessions are opened as the agent says', async (t) => {
  const { daemon, problems } = await connect(t, (agent) =>
    agent
      .onTurn(() => undefined)
      .onOpen(({ opening }) => {
        if (opening.params.broken) throw Object.assign(new Error('no model'), { code: 'no_model' })
        return { resumed: opening.beginning.kind === 'resume', provider_session_id: 'mine', model: 'm' }
      }),
  )
  const { data } = await daemon.open('s1', { beginning: { kind: 'resume', provider_session_id: 'old' }, cwd: '/srv' })
  assert.deepEqual(data, { resumed: true, provider_session_id: 'mine', model: 'm' })
  void daemon.open('s2', { params: { broken: true } }).catch(() => undefined)
  assert.deepEqual((await daemon.next('s2', 'start_failed')).data, { message: 'no model', code: 'no_model' })
  assert.equal(problems.length, 1)
  daemon.of('s2').heardMessages.push({ type: 'ready' })
})

test('a session is closed, and a turn that runs with it', async (t) => {
  let reason
  const { daemon, agent } = await connect(t, (agent) =>
    agent.onTurn(async (session, prompt) => {
      await session.text('working')
      await new Promise((resolve) => prompt.signal.addEventListener('abort', resolve))
      reason = session.signal.reason
    }),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  await daemon.next('s1', 'delta')
  daemon.send({ type: 'close', session_id: 's1', reason: 'archived' })
  await daemon.next('s1', 'closed')
  assert.deepEqual(types(daemon.said('s1')), ['ready', 'delta', 'turn_ended', 'closed'])
  assert.ok(reason instanceof SessionGone)
  assert.deepEqual(agent.sessions, [])
})

test('the daemon refuses the agent', async (t) => {
  const daemon = await AgentDaemon.start(t)
  daemon.refuse = { status: 403, code: 'forbidden' }
  const agent = new Agent('research', { url: daemon.url, token: 'wrong', onProblem: () => undefined }).onTurn(
    () => undefined,
  )
  await assert.rejects(agent.run(), { name: 'TurnloomError', code: 'forbidden', status: 403 })
})

test('a hello that the daemon does not like', async (t) => {
  const { daemon, running } = await connect(t, (agent) => agent.onTurn(() => undefined))
  await eventually('connected', () => daemon.hellos.length === 1)
  daemon.ws.close(1008, 'bad_hello')
  await assert.rejects(running, { name: 'TurnloomError', code: 'bad_hello' })
})

test('an agent without a function says so', async () => {
  await assert.rejects(new Agent('nobody').run(), { name: 'TypeError', message: /onTurn or onSession/ })
})

test('an agent that is closed ends its turns first', async (t) => {
  const { daemon, agent, running } = await connect(t, (agent) =>
    agent.onTurn(async (session) => session.waitFor('approval', { action: 'Wait' })),
  )
  await daemon.open('s1')
  daemon.prompt('s1', 'turn_1', 'go')
  await daemon.next('s1', 'ask')
  agent.close()
  await running
  assert.equal(daemon.said('s1').at(-1).type, 'turn_ended')
  assert.equal(daemon.said('s1').at(-1).data.outcome, 'interrupted')
})
