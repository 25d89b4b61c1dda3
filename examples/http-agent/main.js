// A chat with AG-UI's own client and no framework.

import { HttpAgent } from '@ag-ui/client'

import { headers, session, url } from '../daemon.js'

const agent = new HttpAgent({ url: `${url}/ag-ui/${session}`, headers, threadId: session })
const [log, output, form, stop] = ['[role=log]', 'output', 'form', '#stop'].map((name) => document.querySelector(name))

let running = 0
let problem

/** One run: something new is said, something is answered, or, with nothing, the turn that runs is followed. */
async function run(options) {
  running += 1
  problem = undefined
  show()
  const subscriber = {
    onMessagesChanged: showSoon,
    onRunErrorEvent: ({ event }) => void (problem = event.message),
  }
  await agent.runAgent(options, subscriber).catch((error) => (problem ??= error.message))
  running -= 1
  show()
}

let isDue = false

/** At most once a frame: an agent may say more than a page can draw. */
function showSoon() {
  if (isDue) return
  isDue = true
  requestAnimationFrame(() => {
    isDue = false
    show()
  })
}

function show() {
  const asks = running ? [] : agent.pendingInterrupts
  output.value = running ? 'running' : asks.length > 0 ? 'waiting for you' : 'ready'
  stop.hidden = output.value === 'ready'
  const alert = problem ? [element('p', { role: 'alert' }, problem)] : []
  log.replaceChildren(...agent.messages.flatMap(draw), ...asks.map(drawAsk), ...alert)
  log.scrollTop = log.scrollHeight
}

function draw({ role, content, toolCalls = [] }) {
  if (role === 'user') return [element('article', { class: 'user' }, element('p', {}, content))]
  if (role !== 'assistant') return []
  const rows = toolCalls.map(({ id, function: { name, arguments: input } }) => {
    const { command, file_path } = JSON.parse(input || '{}')
    const result = agent.messages.find((message) => message.toolCallId === id)
    const state = !result ? 'running' : result.metadata?.isError ? 'failed' : 'done'
    return element('div', { class: 'tool' }, `${name} ${command ?? file_path ?? ''}`, element('span', {}, state))
  })
  return [element('article', { class: 'assistant' }, ...(content ? [element('p', {}, content)] : []), ...rows)]
}

function drawAsk({ id, message, reason, metadata }) {
  const answer = (status, payload) => run({ resume: [{ interruptId: id, status, ...(payload && { payload }) }] })
  const button = (name, onclick, attributes = {}) => {
    const made = element('button', { type: 'button', ...attributes }, name)
    made.addEventListener('click', onclick)
    return made
  }
  if (reason === 'tool_call') {
    const reply = (approved) => () => answer('resolved', { approved })
    const buttons = [button('Allow', reply(true), { class: 'primary' }), button('Reject', reply(false))]
    return element('div', { class: 'ask' }, element('p', {}, message), ...buttons)
  }
  // Forms are asked in the same way; of those this page shows one line to write on.
  const questions = metadata?.questions ?? []
  const label = message ?? metadata?.props?.label ?? reason
  const fields =
    questions.length > 0 ? questions.map(drawQuestion) : [element('input', { name: 'value', 'aria-label': label })]
  const buttons = [element('button', { class: 'primary' }, 'Answer'), button('Skip', () => answer('cancelled'))]
  const form = element(
    'form',
    { class: 'ask' },
    ...(questions.length > 0 ? [] : [element('p', {}, label)]),
    ...fields,
    ...buttons,
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const given = new FormData(form)
    const answers = questions.map((_, at) => given.getAll(`${at}`).filter(Boolean))
    answer('resolved', questions.length > 0 ? { answers } : given.get('value'))
  })
  return form
}

function drawQuestion({ prompt, options, multiple, free_text }, at) {
  const rows = options.map(({ label, description = '' }) => {
    const choice = element('input', { type: multiple ? 'checkbox' : 'radio', name: at, value: label })
    return element('label', { title: description }, choice, ` ${label}`)
  })
  if (free_text || options.length === 0) {
    rows.push(element('input', { name: at, 'aria-label': prompt, placeholder: 'In your own words' }))
  }
  return element('fieldset', {}, element('legend', {}, prompt), ...rows)
}

function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: form.elements.message.value })
  form.reset()
  run()
})

// Closing the connection stops nothing; this does.
stop.addEventListener('click', () => {
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{}' }
  fetch(`${url}/api/sessions/${session}/stop`, init)
})

form.hidden = false
run()
