// assistant-ui's own runtime for AG-UI, unmodified, in a page that is rendered into a DOM, against the real daemon: what docs/assistant-ui.md shows.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { Window } from 'happy-dom'

import { Daemon, eventually } from '../support/daemon.js'

const window = new Window()
globalThis.window = window
globalThis.document = window.document
globalThis.navigator ??= window.navigator
const { createElement: h } = await import('react')
const { createRoot } = await import('react-dom/client')
const { HttpAgent } = await import('@ag-ui/client')
const { AssistantRuntimeProvider } = await import('@assistant-ui/react')
const { useAgUiRuntime } = await import('@assistant-ui/react-ag-ui')

let daemon
before(async () => {
  daemon = await Daemon.start()
})
after(async () => {
  await daemon.stop()
  await window.happyDOM.close()
})

/** A page, and the thread in it. */
async function open(t, id) {
  const place = document.body.appendChild(document.createElement('div'))
  const root = createRoot(place)
  const agent = new HttpAgent({ url: `${daemon.url}/ag-ui/${id}`, threadId: id, headers: daemon.headers })
  let runtime
  function Page() {
    runtime = useAgUiRuntime({ agent })
    return h(AssistantRuntimeProvider, { runtime }, h('main'))
  }
  root.render(h(Page))
  t.after(() => root.unmount())
  await eventually('the page', () => runtime?.thread)
  const { thread } = runtime
  const state = () => thread.getState()
  const parts = () => state().messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content)
  return {
    thread,
    state,
    parts,
    text: () => parts().filter(({ type }) => type === 'text').map(({ text }) => text).join(''),
    say: (text) => thread.append({ role: 'user', content: [{ type: 'text', text }] }),
    rests: () => eventually('the run ends', () => !state().isRunning),
  }
}

test('text, tools and what was said before', async (t) => {
  await daemon.session('aui-1')
  const page = await open(t, 'aui-1')
  page.say('echo hello there')
  await eventually('an answer', () => page.text() === 'hello there' && !page.state().isRunning)
  page.say('tool')
  await eventually('another', () => page.text().endsWith('Three tools worked and one did not.') && !page.state().isRunning)
  assert.equal(page.parts().filter(({ type }) => type === 'tool-call').length, 4)
})

test('who comes in the middle of an answer loses no word of it', async (t) => {
  await daemon.session('aui-2')
  await daemon.call('POST', '/api/sessions/aui-2/message', { message: 'stream 60 10 60' })
  await eventually('it speaks', async () => (await daemon.events('aui-2')).filter(({ type }) => type === 'delta').length > 10)
  const page = await open(t, 'aui-2')
  page.thread.startRun({ parentId: null })
  await eventually('the end', async () => (await daemon.show('aui-2')).status === 'idle')
  await page.rests()
  const said = (await daemon.events('aui-2')).filter(({ type }) => type === 'delta').map(({ data }) => data.text).join('')
  assert.equal(page.text(), said)
})

test('a permission', async (t) => {
  await daemon.session('aui-3')
  const page = await open(t, 'aui-3')
  page.say('permission')
  const asked = () => page.parts().find((part) => part.type === 'tool-call' && part.approval && part.approval.approved === undefined)
  const { toolCallId, approval } = await eventually('the ask', asked)
  const message = page.state().messages.at(-1)
  page.thread.getMessageById(message.id).getMessagePartByToolCallId(toolCallId).respondToToolApproval({ approvalId: approval.id, approved: true })
  await eventually('it is done', () => page.text().includes('Done, with your permission.') && !page.state().isRunning)
})

test('the page about it names what the packages have', async () => {
  const { readFile } = await import('node:fs/promises')
  const page = await readFile(new URL('../../docs/assistant-ui.md', import.meta.url), 'utf8')
  const { devDependencies } = JSON.parse(await readFile(new URL('package.json', import.meta.url), 'utf8'))
  const imports = [...page.matchAll(/^import \{ (.+) \} from '(.+)'$/gm)]
  assert.equal(imports.length, 3)
  for (const [, names, from] of imports) {
    const module = await import(from)
    for (const name of names.split(', ')) assert.equal(typeof module[name] !== 'undefined', true, `${name} of ${from}`)
    assert.ok(page.includes(`\`${from}\` ${devDependencies[from]}`), `${from} ${devDependencies[from]}`)
  }
  assert.ok('useAgUiInterrupts' in (await import('@assistant-ui/react-ag-ui')))
})
