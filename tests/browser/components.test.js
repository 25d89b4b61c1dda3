// Rich components: what is drawn, where it stands, what is told, and what an agent cannot do with them. The views are made up, so that each state
// is there for as long as it is looked at.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import { EXAMPLES, component, inChat, showComponents } from './componentViews.js'
import { composer, conversation, eventually, none, workbench } from './fixture.js'

const AT = '2026-01-01T00:00:00.000Z'
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What was told to the daemon in place of doing it. */
async function told(page, path, status = 200) {
  const bodies = []
  await page.route(path, (route) => {
    bodies.push(route.request().postDataJSON())
    return status === 200 ? route.fulfill({ json: { resolved: true } }) : route.fulfill({ status, json: { code: 'test_failed', detail: 'It has changed meanwhile.' } })
  })
  return bodies
}

const seriousOf = async (page) => {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).slice(0, 3).join(' | ')}`)
  })
}

for (const [size, viewport] of [['wide', { width: 1280, height: 800 }], ['narrow', { width: 320, height: 640 }]])
  for (const colorScheme of ['light', 'dark'])
    workbench(`every component is drawn as it loads, as it is and as it failed, for everybody (${size}, ${colorScheme})`, async (daemon, openPage) => {
      const page = await openPage({ sse: true, viewport, colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
      const blocks = EXAMPLES.flatMap(({ name, props }) => [
        inChat(`${name}-loading`, name, {}, { status: 'loading' }),
        inChat(`${name}-ready`, name, { title: `The ${name}`, ...props }),
        inChat(`${name}-error`, name, { title: `Failed ${name}`, ...props }, { status: 'error', error: 'the thread broke' }),
      ])
      await showComponents(daemon, page, 'all', { blocks })
      for (const { name, props } of EXAMPLES) await conversation(page).getByRole('region', { name: props.title ?? `The ${name}`, exact: true }).first().waitFor()
      await eventually('all of them have failed too', async () => (await conversation(page).getByText('The thread broke').count()) === EXAMPLES.length)
      await none(conversation(page).getByText(/does not know how to draw|Shown as data/))
      await eventually('nothing is too wide', () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
      const wide = await page.evaluate(() => [...document.querySelectorAll('.component')].filter((card) => card.scrollWidth > card.clientWidth + 1).map((card) => card.getAttribute('aria-label')))
      assert.deepEqual(wide, [])
      assert.deepEqual(await seriousOf(page), [])
    })

workbench('what does not fit and what is not known is data, with one line that says why', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  await showComponents(daemon, page, 'odd', {
    blocks: [
      inChat('a', 'chart', { title: 'Spiral', type: 'spiral', data: [1] }),
      inChat('b', 'Hologram', { depth: 7 }),
      inChat('c', 'image', { title: 'Elsewhere', src: 'https://example.org/x.png', alt: 'x' }),
      inChat('d', 'key_values', { title: 'Links', items: [{ label: 'Bad', value: 'javascript:alert(1)', kind: 'link' }, { label: 'Good', value: 'https://example.org/a', kind: 'link' }] }),
    ],
  })
  const region = (name) => conversation(page).getByRole('region', { name, exact: true })
  await region('Spiral').getByText(/Shown as data: \/type must be one of/).waitFor()
  await region('Hologram').getByText('This page does not know how to draw Hologram.').waitFor()
  await region('Elsewhere').getByText(/Shown as data: \/src must look like/).waitFor()
  await region('Links').getByText('javascript:alert(1)').waitFor()
  const link = region('Links').getByRole('link')
  assert.equal(await link.count(), 1)
  assert.deepEqual([await link.getAttribute('rel'), await link.getAttribute('target')], ['noopener noreferrer', '_blank'])
})

workbench('components stand where they want to, and nothing moves for them', async (daemon, openPage) => {
  const page = await openPage({ sse: true, viewport: { width: 1440, height: 900 } })
  await showComponents(daemon, page, 'places', {
    blocks: [
      inChat('long', 'markdown', { title: 'Long', text: 'Line.\n\n'.repeat(80) }),
      { kind: 'component', id: 'b-moved', started_at: AT, component_id: 'cv', name: 'table', surface: 'canvas', status: 'ready' },
    ],
    components: [
      component('sb', 'progress', 'sidebar', { title: 'Weaving', label: 'Rows', value: 30, max: 120 }),
      component('pn', 'tree', 'panel', { title: 'Parts', nodes: [{ label: 'loom', expanded: true, children: [{ label: 'reed' }] }] }),
      component('we', 'weather', 'overlay', { title: 'Not above', location: 'Ghent', temperature: 3 }),
      component('cv', 'table', 'canvas', { title: 'Cloth', rows: [{ thread: 'warp' }] }),
      component('ov', 'markdown', 'overlay', { title: 'Above', text: 'I stand above.' }),
    ],
  })
  const overlay = page.getByRole('dialog', { name: 'Above' })
  await overlay.getByText('I stand above.').waitFor()
  await overlay.getByText('Shown by Mock agent').waitFor()
  assert.equal(await overlay.evaluate((dialog) => dialog.contains(document.activeElement)), false, 'the focus stays where it was')
  const [above, below] = [await overlay.boundingBox(), await composer(page).boundingBox()]
  assert.ok(above.y + above.height <= below.y, 'it does not cover the composer')
  await conversation(page).focus()
  await page.keyboard.press('Escape')
  await overlay.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Show Above' }).waitFor()

  // In the conversation: cut, and what has moved is one line that leads there.
  const card = conversation(page).getByRole('region', { name: 'Long' })
  const height = async () => (await card.locator('xpath=../..').boundingBox()).height
  await eventually('it is cut', async () => (await height()) <= 481)
  await conversation(page).getByRole('button', { name: 'Show all' }).click()
  await eventually('it is whole', async () => (await height()) > 600)

  // Beside it: counted until it is seen. One that may not stand above has the first of its own places.
  await page.getByRole('button', { name: 'Panel, 3 new components' }).click()
  await page.getByRole('region', { name: 'Sidebar' }).getByText('30 of 120').waitFor()
  await page.getByRole('button', { name: 'Panel, 2 new components' }).waitFor()
  await page.getByRole('tab', { name: /Parts/ }).click()
  await page.getByRole('treeitem', { name: 'reed' }).waitFor()
  await page.getByRole('tab', { name: /Not above/ }).click()
  await page.getByRole('button', { name: 'Panel', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Fold Weaving' }).click()
  await none(page.getByText('30 of 120'))
  await page.getByRole('button', { name: 'Weaving' }).click()
  await page.getByText('30 of 120').waitFor()

  await conversation(page).getByText('stands on the canvas').locator('xpath=../..').getByRole('button', { name: 'Show' }).click()
  const canvas = page.getByRole('region', { name: 'Canvas' })
  await canvas.getByRole('cell', { name: 'warp' }).waitFor()
  const [left, right] = [await conversation(page).boundingBox(), await canvas.boundingBox()]
  assert.ok(Math.abs(left.width - right.width) < 4, 'half of the room each')
  await page.getByRole('region', { name: 'Sidebar' }).getByRole('button', { name: 'Show on the canvas' }).click()
  await canvas.getByRole('tab', { name: 'Weaving', selected: true }).waitFor()
  await canvas.getByRole('button', { name: 'Full size' }).click()
  await eventually('all of the room', async () => (await canvas.boundingBox()).width > right.width * 1.8)
  assert.equal(await composer(page).isVisible(), true)
  await page.keyboard.press('Escape')
  await canvas.waitFor({ state: 'detached' })
})

workbench('on a phone what stands beside is a sheet behind one button, and the composer stays', async (daemon, openPage) => {
  const page = await openPage({ sse: true, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
  await showComponents(daemon, page, 'phone', {
    blocks: [inChat('c', 'markdown', { title: 'Words', text: 'Here.' })],
    components: [
      component('sb', 'progress', 'sidebar', { title: 'Weaving', label: 'Rows', value: 30, max: 120 }),
      component('cv', 'table', 'canvas', { title: 'Cloth', rows: [{ thread: 'warp' }] }),
    ],
  })
  await page.getByRole('button', { name: 'Shown, 2 new' }).tap()
  const sheet = page.getByRole('region', { name: 'Shown' })
  await sheet.getByRole('cell', { name: 'warp' }).waitFor()
  await sheet.getByRole('tab', { name: /Weaving/ }).tap()
  await sheet.getByText('30 of 120').waitFor()
  await page.getByRole('button', { name: 'Shown', exact: true }).waitFor()
  const [shown, writes] = [await sheet.boundingBox(), await composer(page).boundingBox()]
  assert.ok(shown.y + shown.height <= writes.y, 'it does not cover the composer')
  await page.getByRole('button', { name: 'Shown', exact: true }).tap()
  await sheet.waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), true)
})

workbench('a row whose component says the same steps back, unless that went wrong', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  const row = (id, covered_by) => ({ kind: 'tool', id, started_at: AT, tool_use_id: id, tool: `tool_${id}`, status: 'done', summary: `tool_${id}`, covered_by })
  await showComponents(daemon, page, 'rows', {
    blocks: [
      inChat('good', 'progress', { title: 'Good', value: 1, max: 2 }, { tool_use_id: 'one' }),
      row('one', 'good'),
      inChat('bad', 'progress', { title: 'Bad', value: 1, max: 2 }, { tool_use_id: 'two', status: 'error', error: 'it broke' }),
      row('two', 'bad'),
      row('three', 'gone'),
    ],
  })
  const rowOf = (name) => conversation(page).getByRole('button', { name: `tool_${name}` })
  await rowOf('two').waitFor()
  await rowOf('three').waitFor()
  await none(rowOf('one'))
  await conversation(page).getByRole('region', { name: 'Good' }).getByRole('button', { name: 'Show the call' }).click()
  await rowOf('one').waitFor()
})

const interrupt = (ask_id, component_name, props, more = {}) => ({ kind: 'interrupt', id: `i-${ask_id}`, started_at: AT, ask_id, component_name, props, surface: 'chat', state: 'pending', ...more })

workbench('an ask is drawn by the component it names, and what is not known gets a form from its schema', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  const answers = await told(page, '**/interrupt/*')
  await showComponents(daemon, page, 'asks', {
    blocks: [
      interrupt('a1', 'approval', { action: 'Push to main', allow_message: true }, { title: 'Push it?' }),
      interrupt('a2', 'DatePicker', { question: 'When?' }, { value_schema: { type: 'object', properties: { day: { type: 'integer', title: 'Day', minimum: 1 } }, required: ['day'] } }),
      interrupt('a3', 'form', { title: 'Chosen', schema: { type: 'object', properties: { colour: { enum: ['indigo', 'weld'] } } } }, { state: 'answered', value: { action: 'submit', values: { colour: 'weld' } }, by: 'web', ended_at: AT }),
      interrupt('a4', 'form', { title: 'Beside', schema: { type: 'object', properties: { name: { type: 'string', title: 'Name' } } } }, { surface: 'panel' }),
    ],
    components: [component('interrupt-a4', 'form', 'panel', { title: 'Beside', schema: { type: 'object', properties: { name: { type: 'string', title: 'Name' } } } }, { waiting: 'a4' })],
  })
  const card = (name) => conversation(page).getByRole('region', { name, exact: true }).first()
  await card('Push it?').getByText('Mock agent asks').waitFor()
  await card('Push it?').getByLabel('A word with the answer').fill('go on')
  await card('Push it?').getByRole('button', { name: 'Approve' }).click()
  await eventually('it is answered', () => answers.length === 1)
  assert.deepEqual(answers[0], { value: { choice: 'approve', approved: true, message: 'go on' } })

  await card('When?').getByRole('button', { name: 'Answer' }).click()
  await card('When?').getByText('This is needed.').waitFor()
  await card('When?').getByLabel('Day').fill('0')
  await card('When?').getByText('At least 1.').waitFor()
  await card('When?').getByLabel('Day').fill('3')
  await card('When?').getByRole('button', { name: 'Answer' }).click()
  await eventually('it is answered', () => answers.length === 2)
  assert.deepEqual(answers[1], { value: { day: 3 } })

  const settled = card('Chosen')
  assert.equal(await settled.getByRole('radio', { name: 'weld' }).isChecked(), true)
  assert.equal(await settled.getByRole('radio', { name: 'indigo' }).isDisabled(), true)
  await none(settled.getByRole('button'))
  await conversation(page).getByText(/Answered by you.*colour: weld/).waitFor()

  // One that stands elsewhere is opened once; what was typed there stays when its place is closed.
  const panel = page.getByRole('complementary', { name: 'Panel' })
  await panel.getByLabel('Name').fill('Indigo')
  await panel.getByRole('button', { name: 'Close the panel' }).click()
  await conversation(page).getByText('stands in the panel').locator('xpath=../..').getByRole('button', { name: 'Show' }).click()
  await eventually('it is still there', async () => (await panel.getByLabel('Name').inputValue()) === 'Indigo')
  await panel.getByRole('button', { name: 'Submit' }).click()
  await eventually('it is answered', () => answers.length === 3)
  assert.deepEqual(answers[2], { value: { action: 'submit', values: { name: 'Indigo' } } })
})

workbench('steps of a plan are moved by key and taken back when that fails; what is bound is a patch of the state', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  let fails = false
  const calls = []
  await page.route('**/components/plan/callback', (route) => {
    calls.push(route.request().postDataJSON())
    return fails ? route.fulfill({ status: 503, json: { code: 'overloaded', detail: 'Too much at once.' } }) : route.fulfill({ json: {} })
  })
  const patches = await told(page, '**/sessions/plans/state', 409)
  await showComponents(daemon, page, 'plans', {
    blocks: [
      inChat('plan', 'plan_editor', { title: 'Own', steps: ['Warp', 'Weave', 'Wash'] }),
      inChat('bound', 'plan_editor', { title: 'Bound', steps: ['One', 'Two'] }, { bind: { pointer: '/plan', as: 'steps', edits: true } }),
    ],
    state: { plan: ['One', 'Two'] },
  })
  const plan = conversation(page).getByRole('region', { name: 'Own', exact: true })
  const steps = async (region) => (await region.getByRole('listitem').allInnerTexts()).map((text) => text.split(/[\n,]/)[0].trim())
  await plan.getByRole('button', { name: /^Move step 1/ }).press('ArrowDown')
  await eventually('it has moved', async () => (await steps(plan)).join() === 'Weave,Warp,Wash')
  await eventually('it is told', () => calls.length === 1)
  assert.deepEqual([calls[0].action, calls[0].payload], ['reorder_steps', { steps: ['Weave', 'Warp', 'Wash'] }])
  await eventually('the focus went with it', () => page.evaluate(() => document.activeElement?.getAttribute('aria-label')?.startsWith('Move step 2')))
  fails = true
  await plan.getByRole('button', { name: 'Remove step 3' }).click()
  await plan.getByText('Too much at once.').waitFor()
  await eventually('it is taken back', async () => (await steps(plan)).length === 3)

  const bound = conversation(page).getByRole('region', { name: 'Bound', exact: true })
  await bound.getByRole('button', { name: /^Move step 2/ }).press('ArrowUp')
  await eventually('it is a patch', () => patches.length === 1)
  assert.deepEqual(patches[0], [{ op: 'test', path: '/plan', value: ['One', 'Two'] }, { op: 'replace', path: '/plan', value: ['Two', 'One'] }])
  await bound.getByText('It has changed meanwhile.').waitFor()
  await eventually('it is as it was', async () => (await steps(bound)).join() === 'One,Two')
})

workbench('of thousands of rows and points only what is seen is in the document, and keys reach the rest', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  await showComponents(daemon, page, 'many', {
    blocks: [
      inChat('t', 'table', { title: 'Rows', rows: Array.from({ length: 5_000 }, (_, n) => ({ n, name: `row ${n}` })) }),
      inChat('x', 'tree', { title: 'Nodes', nodes: Array.from({ length: 5_000 }, (_, n) => ({ label: `node ${n}` })) }),
      inChat('f', 'file_list', { title: 'Paths', files: Array.from({ length: 2_000 }, (_, n) => ({ path: `src/${n}.rs` })) }),
      inChat('p', 'chart', { title: 'Points', type: 'scatter', data: Array.from({ length: 5_000 }, (_, n) => [n, (n * 7919) % 101]) }),
    ],
  })
  const region = (name) => conversation(page).getByRole('region', { name, exact: true })
  await region('Rows').getByRole('cell', { name: 'row 0', exact: true }).waitFor()
  assert.ok((await region('Rows').getByRole('row').count()) < 60)
  await region('Rows').getByRole('button', { name: 'n', exact: true }).click()
  await region('Rows').getByRole('button', { name: 'n', exact: true }).click()
  await region('Rows').getByRole('cell', { name: 'row 4999', exact: true }).waitFor()
  const nodes = region('Nodes').getByRole('treeitem')
  assert.ok((await nodes.count()) < 60)
  await nodes.first().focus()
  await page.keyboard.press('End')
  await eventually('the last one has the focus', () => page.evaluate(() => document.activeElement?.textContent?.includes('node 4999')))
  assert.ok((await region('Paths').getByRole('listitem').count()) < 60)
  assert.ok((await region('Points').locator('circle').count()) <= 2_001)
})
