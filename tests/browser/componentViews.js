// Made-up views with components in them, shown in place of a session's own, and the registry that goes with them.

import { readFile } from 'node:fs/promises'

import { showView } from './support.js'

const read = async (name) =>
  (await readFile(new URL(`../../crates/core/src/component/${name}.jsonl`, import.meta.url), 'utf8')).split('\n').filter(Boolean).map((line) => JSON.parse(line))

/** What the program ships, as the daemon serves it. */
const REGISTRY = (await read('builtin')).map((entry) => ({ source: 'builtin', ...entry }))

/** One that fits, of each component. */
export const EXAMPLES = REGISTRY.map(({ name }) => name).map((name) => ({ name, props: {} }))
for (const { name, props, misfit } of await read('examples'))
  if (misfit === undefined) Object.assign(EXAMPLES.find((example) => example.name === name), { props })

const AT = '2026-01-01T00:00:00.000Z'

/** A component beside the conversation. */
export const component = (component_id, name, surface, props, more = {}) => ({ component_id, name, surface, props, status: 'ready', ...more })

/** The same as a block of the conversation. */
export const inChat = (component_id, name, props, more = {}) => ({ kind: 'component', id: `b-${component_id}`, started_at: AT, ...component(component_id, name, 'chat', props, more) })

/** Shows a session whose agent has said these blocks and shows these components. The page must have been opened with `sse`. */
export async function showComponents(daemon, page, id, { blocks = [], components = [], asks = [], state } = {}) {
  await daemon.session(id)
  const view = await daemon.call('GET', `/api/sessions/${id}/view`)
  await page.route('**/api/components?*', (route) => route.fulfill({ json: { components: REGISTRY, version: '1' } }))
  await showView(page, id, {
    ...view,
    messages: [{ id: 'm1', role: 'agent', at: AT, done: true, content: '', blocks, outcome: 'completed' }],
    components,
    asks,
    ...(state === undefined ? {} : { state }),
  })
  await page.goto(`${daemon.url}/#/s/${id}`)
}
