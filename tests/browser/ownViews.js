// Components of somebody's own, for tests: folders that the daemon reads, pages that talk as the standard says, and facts that show them.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What every page of these tests can do: `ask`, `say`, and `heard(message)` for what it is told. */
export const TALK = `
  const answers = new Map()
  let asked = 0
  const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
  const say = (method, params = {}) => post({ method, params })
  const ask = (method, params = {}) => new Promise((resolve) => {
    const id = ++asked
    answers.set(id, resolve)
    post({ id, method, params })
  })
  addEventListener('message', ({ source, data }) => {
    if (source !== parent) return
    if (data.method === undefined) answers.get(data.id)?.(data)
    else if (data.id !== undefined) post({ id: data.id, result: {} })
    else globalThis.heard?.(data)
  })
  const begin = async () => {
    const { result } = await ask('ui/initialize', { protocolVersion: '2026-01-26', appInfo: { name: 'test', version: '1' }, appCapabilities: {} })
    say('ui/notifications/initialized')
    return result
  }
`

/** A dial with a field to write in, and a button for everything that a page may ask for. */
export const GAUGE = {
  'component.json': JSON.stringify({
    title: 'Gauge', surfaces: ['chat', 'sidebar', 'panel', 'overlay', 'canvas'], state: true,
    props: { type: 'object', properties: { value: { type: 'number' } } },
    callbacks: [{ name: 'turn' }], resolves: { type: 'object' },
  }),
  'index.html': `<!doctype html><meta charset="utf-8">
    <style>body { margin: 0; font: 14px sans-serif; color: var(--color-text-primary); background: var(--color-background-primary) }</style>
    <p id="value"></p><p id="where"></p><input aria-label="Note"><p id="said"></p>
    <button id="turn">Turn</button><button id="resolve">Resolve</button><button id="message">Message</button><button id="link">Link</button>
    <button id="bad">Bad link</button><button id="context">Context</button><button id="state">State</button><button id="full">Full</button><button id="grow">Grow</button><button id="end">End</button>
    <script src="gauge.js"></script>`,
  'gauge.js': `${TALK}
    const at = (id) => document.getElementById(id)
    let context = {}
    const draw = () => {
      const { turnloom, theme, displayMode, containerDimensions, styles } = context
      at('value').textContent = 'value ' + turnloom.props.value + ', ' + turnloom.status + (turnloom.waiting ? ', waiting' : '')
      at('where').textContent = [turnloom.surface, theme, displayMode, Object.keys(containerDimensions).sort()].join(' ')
      for (const [name, value] of Object.entries(styles.variables)) document.documentElement.style.setProperty(name, value)
    }
    globalThis.heard = ({ method, params }) => {
      if (method !== 'ui/notifications/host-context-changed') return
      context = { ...context, ...params }
      draw()
    }
    const told = (text) => (answer) => { at('said').textContent = text + ' ' + JSON.stringify(answer.result ?? answer.error) }
    const press = (id, act) => at(id).addEventListener('click', () => act().then(told(id)))
    press('turn', () => ask('tools/call', { name: 'turn', arguments: { by: 2 } }))
    press('resolve', () => ask('tools/call', { name: 'resolve', arguments: { value: { at: 7 } } }))
    press('message', () => ask('ui/message', { role: 'user', content: [{ type: 'text', text: 'Turn it down.' }] }))
    press('link', () => ask('ui/open-link', { url: 'https://example.org/a/long/way?to=go' }))
    press('bad', () => ask('ui/open-link', { url: 'javascript:alert(1)' }))
    press('context', () => ask('ui/update-model-context', { structuredContent: { at: 4 } }))
    press('state', () => ask('tools/call', { name: 'get_state', arguments: {} }))
    press('full', () => ask('ui/request-display-mode', { mode: 'fullscreen' }))
    at('grow').addEventListener('click', () => say('ui/notifications/size-changed', { height: 333 }))
    at('end').addEventListener('click', () => say('ui/notifications/request-teardown'))
    begin().then(({ hostContext }) => { context = hostContext; draw(); say('ui/notifications/size-changed', { height: 180 }) })
  `,
}

/** A page that does something when it has begun. */
export const page = (script, more = {}) => ({
  'component.json': JSON.stringify({ title: 'Odd', surfaces: ['chat', 'sidebar', 'panel', 'overlay', 'canvas'], callbacks: [{ name: 'turn' }], ...more }),
  'index.html': `<!doctype html><meta charset="utf-8"><p id="p">here</p><script src="page.js"></script>`,
  'page.js': `${TALK}\n${script}`,
})

/** Installs a component, or another version of it. */
export async function install(daemon, name, files) {
  const folder = join(daemon.data, 'components', name)
  await mkdir(folder, { recursive: true })
  for (const [file, content] of Object.entries(files)) await writeFile(join(folder, file), content)
  const { problems } = await daemon.call('POST', '/api/components/reload', {})
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
}

/** Shows a component, or changes it, as a script would. */
export const show = (daemon, session, component_id, name, surface, props, more = {}) =>
  daemon.call('POST', `/api/sessions/${session}/emit`, { events: [{ type: 'component_update', data: { component_id, name, surface, props, merge: false, ...more } }] })
