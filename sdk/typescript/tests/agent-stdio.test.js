// An agent that the daemon starts: the same messages as lines on its pipes, without numbers.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'

import { Agent } from 'turnloom/agent'

import { eventually } from './agent-support.js'

const OPEN = {
  type: 'open',
  session_id: 's1',
  epoch: 1,
  opening: { beginning: { kind: 'fresh' }, params: { depth: 2 }, client_tools: [] },
  state: { a: 1 },
}
const prompt = (turn_id, text) => ({
  type: 'prompt',
  turn_id,
  messages: [{ message_id: turn_id, content: [{ type: 'text', text }], origin: 'user' }],
})

/** An agent on two pipes of this process. */
function piped(make) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const said = []
  createInterface(output).on('line', (line) => said.push(JSON.parse(line)))
  const problems = []
  const agent = new Agent('digest', { stopGraceMs: 1_000, onProblem: (problem) => problems.push(problem) })
  make(agent)
  const running = agent.run({ stdio: { input, output } })
  const tell = (message) => input.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`)
  const next = (type) => eventually(type, () => said.find((message) => message.type === type))
  return { agent, input, said, problems, running, tell, next }
}

test('lines both ways, without numbers', async () => {
  const { tell, next, said, running } = piped((agent) =>
    agent.onTurn(async (session, { text }) => {
      await session.text(`${text} ${session.opening.params.depth} ${session.state.value.a}`)
      const value = await session.waitFor('approval', { action: 'Go' }, { key: 'k' })
      session.state.value.a = value
      await session.state.flush()
      await session.committed()
    }),
  )
  tell(OPEN)
  tell(prompt('t1', 'hello'))
  await next('ask')
  tell({ type: 'answer', key: 'k', ask_id: 'x', by: 'tests', interrupt: { value: 5 } })
  await next('turn_ended')
  tell({ type: 'close', reason: 'idle' })
  await running
  assert.deepEqual(
    said.map(({ type }) => type),
    ['ready', 'delta', 'ask', 'state_delta', 'turn_ended', 'closed'],
  )
  assert.equal(said[1].data.text, 'hello 2 1')
  assert.deepEqual(said[3].data.patch, [{ op: 'replace', path: '/a', value: 5 }])
  assert.ok(said.every((message) => message.n === undefined && message.session_id === 's1'))
})

test('the end of stdin ends the agent, and a turn that runs', async () => {
  const { tell, next, said, running, input } = piped((agent) =>
    agent.onTurn(async (session, { signal }) => {
      await session.text('on it')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    }),
  )
  tell(OPEN)
  tell(prompt('t1', 'go'))
  await next('delta')
  input.end()
  await running
  assert.deepEqual(
    said.map(({ type }) => type),
    ['ready', 'delta', 'turn_ended', 'closed'],
  )
  assert.equal(said[2].data.outcome, 'interrupted')
})

test('odd lines harm nobody, and lines come in pieces', async () => {
  const { tell, next, problems, running, input } = piped((agent) =>
    agent.onTurn((session, { text }) => session.text(text)),
  )
  tell('nonsense\n\n[]\n{"type":"prompt"}\n')
  tell(OPEN)
  const bytes = Buffer.from(`${JSON.stringify(prompt('t1', 'Zwölf 🥊'))}\n`)
  for (const byte of bytes) input.write(Buffer.from([byte]))
  await next('turn_ended')
  assert.equal((await next('delta')).data.text, 'Zwölf 🥊')
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    ['message', 'message'],
  )
  input.end()
  await running
})

test('as a program: what it prints does not stand between the messages', async () => {
  const source = `
    import { Agent } from 'turnloom/agent'
    const agent = new Agent('digest').onTurn(async (session) => { console.log('printed'); await session.text('said') })
    await agent.run({ stdio: true })
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: new URL('..', import.meta.url),
    stdio: 'pipe',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const [lines, printed] = [[], []]
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  createInterface(child.stderr).on('line', (line) => printed.push(line))
  child.stdin.write(`${JSON.stringify(OPEN)}\n${JSON.stringify(prompt('t1', 'go'))}\n`)
  await eventually('the turn is over', () => lines.some((line) => line.includes('turn_ended')))
  child.stdin.end()
  assert.equal(await ended, 0)
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).type),
    ['ready', 'delta', 'turn_ended', 'closed'],
  )
  assert.deepEqual(printed, ['printed'])
})
