// What a person gives to an agent: words, pictures, files, commands; now, next, or into the running turn.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, none, send, session, visit, workbench } from './fixture.js'
import { Daemon } from './support.js'

/** The smallest picture there is. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const waiting = (page) => page.getByLabel('Messages that wait')

workbench('a picture is pasted, a text file is attached, and both arrive', async (daemon, openPage) => {
  await daemon.session('gifts')
  const page = await openPage({ hash: session('gifts') })
  await composer(page).waitFor()
  await composer(page).evaluate((box, data) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0))
    const clipboardData = new DataTransfer()
    clipboardData.items.add(new File([bytes], 'pixel.png', { type: 'image/png' }))
    box.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, PIXEL)
  await page.getByRole('button', { name: 'Remove pixel.png' }).waitFor()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Attach files' }).click()
  await (await chooser).setFiles([
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('over, under') },
    { name: 'wrong.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2]) },
  ])
  await page.getByText('wrong.bin is neither text nor an image that agents read.').waitFor()
  // What is attached stays with its session.
  await daemon.session('elsewhere')
  await visit(daemon, page, 'elsewhere')
  await none(page.getByRole('button', { name: 'Remove notes.txt' }))
  await visit(daemon, page, 'gifts')
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
  await send(page, 'look at these')
  await conversation(page).getByRole('article', { name: 'You' }).getByRole('img').waitFor()
  await conversation(page).getByText('over, under').first().waitFor()
  await daemon.untilIdle('gifts')
  const { events } = await daemon.call('GET', '/api/sessions/gifts/events?limit=50')
  const parts = events.find(({ type }) => type === 'user_message').data.content
  assert.deepEqual(parts.map(({ type }) => type), ['text', 'image', 'text'])
})

workbench('A7, queue and steer are two modes with two states: what is queued is edited, moved and taken out, what steers goes into the turn', async (daemon, openPage) => {
  await daemon.session('busy')
  const page = await openPage({ hash: session('busy') })
  await composer(page).waitFor()
  await send(page, 'hang')
  await conversation(page).getByText('Waiting.').waitFor()
  for (const word of ['alpha', 'beta', 'gamma']) {
    await send(page, `echo ${word}`)
    await waiting(page).getByText(`echo ${word}`).waitFor()
  }
  const order = async () => (await waiting(page).getByRole('listitem').allInnerTexts()).map((text) => /echo \w+/.exec(text)?.[0]).filter(Boolean).join()
  await eventually('they wait in order', async () => (await order()) === 'echo alpha,echo beta,echo gamma')
  await page.getByRole('button', { name: 'Send earlier: echo gamma' }).click()
  await eventually('gamma comes before beta', async () => (await order()) === 'echo alpha,echo gamma,echo beta')
  await page.getByRole('button', { name: 'Remove from the queue: echo beta' }).click()
  await eventually('beta is gone', async () => (await order()) === 'echo alpha,echo gamma')
  await page.getByRole('button', { name: 'Edit: echo alpha' }).click()
  await page.getByLabel('Edit the message').fill('echo omega')
  await page.getByRole('button', { name: 'Save' }).click()
  await eventually('omega waits in its place', async () => (await order()) === 'echo omega,echo gamma')

  await page.getByRole('radio', { name: 'Steer' }).click()
  await page.getByRole('button', { name: 'Steer', exact: true }).waitFor()
  await send(page, 'a word into the turn')
  const steered = async () => (await daemon.call('GET', '/api/sessions/busy/events?limit=200')).events.filter(({ type }) => type === 'steer')
  await eventually('it went into the turn', async () => (await steered()).some(({ data }) => data.state === 'delivered'))
  await conversation(page).getByRole('article', { name: 'You' }).getByText('a word into the turn').waitFor()
  // The turn ends with that, and what waits has its turns.
  await daemon.untilIdle('busy')
  const { events } = await daemon.call('GET', '/api/sessions/busy/events?limit=500')
  assert.ok(!JSON.stringify(events.filter(({ type }) => type === 'queue_changed')).includes('a word into'), 'it was never in the queue')
  for (const word of ['gamma', 'omega']) await conversation(page).getByRole('article', { name: 'Agent' }).getByText(word).waitFor()
  assert.equal(await conversation(page).getByText('beta').count(), 0)
})

workbench('the agent’s own commands are offered after a slash, and nothing where there are none', async (daemon, openPage) => {
  await daemon.session('slash')
  const view = await daemon.call('GET', '/api/sessions/slash/view')
  view.session.commands = [
    { name: 'review', description: 'Look at a change', hint: 'FILE' },
    { name: 'rewind', description: 'Go back' },
    { name: 'compact', description: 'Make the history smaller' },
  ]
  const page = await openPage({ sse: true })
  // The first answer is one of an agent with commands; the mock has none, so its own must wait until they were used.
  let first = true
  let used
  const afterwards = new Promise((resolve) => (used = resolve))
  await page.route('**/api/sessions/slash/view/stream*', async (route) => {
    if (!first) {
      await afterwards
      return route.continue()
    }
    first = false
    return route.fulfill({ contentType: 'text/event-stream', body: `id: ${view.seq}\nevent: snapshot\ndata: ${JSON.stringify(view)}\n\n` })
  })
  await page.goto(`${daemon.url}/${session('slash')}`)
  await composer(page).waitFor()
  await composer(page).focus()
  const menu = page.getByRole('listbox', { name: 'Commands of the agent' })
  await page.keyboard.type('/re')
  await menu.waitFor()
  await eventually('two are offered', async () => (await menu.getByRole('option').count()) === 2)
  await page.keyboard.press('ArrowDown')
  await menu.getByRole('option', { name: /rewind/, selected: true }).waitFor()
  await page.keyboard.press('Escape')
  await menu.waitFor({ state: 'detached' })
  await page.keyboard.type('v')
  await menu.getByRole('option', { name: /review/, selected: true }).waitFor()
  await page.keyboard.press('Enter')
  await eventually('the command is written out', async () => (await composer(page).inputValue()) === '/review ')
  await menu.waitFor({ state: 'detached' })
  used()
  await page.keyboard.type('src/loom.rs')
  await page.keyboard.press('Enter')
  await conversation(page).getByText('/review src/loom.rs').first().waitFor()
  const answer = conversation(page).getByRole('article', { name: 'Agent' }).getByText('/review')
  await answer.waitFor()
  await daemon.untilIdle('slash')
  // The mock itself has none.
  await page.reload()
  await answer.waitFor()
  await composer(page).fill('/re')
  await none(menu)
  await composer(page).fill('')

  // Before its first message an agent has not said what it understands; the same agent said it elsewhere, and the daemon knows that.
  await daemon.session('plain')
  await page.route('**/api/agents', async (route) => {
    const answer = await (await route.fetch()).json()
    answer.agents.find(({ id }) => id === 'mock').commands = view.session.commands
    return route.fulfill({ json: answer })
  })
  await page.evaluate(() => localStorage.clear())
  await page.reload()
  await visit(daemon, page, 'plain')
  await composer(page).fill('/re')
  await menu.waitFor()
  // In the middle of a word the whole word is meant.
  await composer(page).fill('/rewi now')
  await composer(page).evaluate((box) => box.setSelectionRange(3, 3))
  await menu.getByRole('option', { name: /rewind/ }).click()
  await eventually('the word is replaced', async () => (await composer(page).inputValue()) === '/rewind now')
  await composer(page).fill('')
  await send(page, 'echo hello')
  await daemon.untilIdle('plain')
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('hello').waitFor()
  // An agent that has said nothing of its commands still has those that were told last: so has a conversation that was begun elsewhere.
  await composer(page).fill('/re')
  await menu.waitFor()
})

workbench('a file that is dropped anywhere on the page is attached, and never replaces the page', async (daemon, openPage) => {
  await daemon.session('drop')
  const page = await openPage({ hash: session('drop') })
  await composer(page).waitFor()
  const drop = (selector, name) =>
    page.evaluate(([selector, name]) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['over, under'], name, { type: 'text/plain' }))
      const target = document.querySelector(selector)
      const event = (type) => new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })
      // What is not held goes the browser's way, which is to open the file in place of the page.
      return [event('dragover'), event('drop')].map((event) => !target.dispatchEvent(event))
    }, [selector, name])
  for (const [selector, name] of [['[role=log]', 'a.txt'], ['nav', 'b.txt'], ['#composer', 'c.txt']]) {
    assert.deepEqual(await drop(selector, name), [true, true], selector)
    await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
  }
  await page.goto(`${daemon.url}/#/new`)
  await page.getByText('Create session').waitFor()
  assert.deepEqual(await drop('main', 'd.txt'), [true, true])
})

workbench('a picture opens large, and closes by key', async (daemon, openPage) => {
  await daemon.import('picture', [
    ['session_ready', { session_id: 'picture', runtime: 'mock', title: 'picture' }],
    ['user_message', { message_id: 'm1', content: [{ type: 'image', media_type: 'image/png', data: PIXEL }], origin: 'user' }, 't1'],
    ['turn_started', { message_ids: ['m1'], origin: 'user' }, 't1'],
    ['done', { outcome: 'completed' }, 't1'],
  ])
  const page = await openPage({ hash: session('picture') })
  const small = conversation(page).getByRole('button', { name: 'Enlarge Image' })
  await small.press('Enter')
  const large = page.getByRole('dialog', { name: 'Image' })
  await large.getByRole('img').waitFor()
  await large.getByRole('button', { name: 'Show in its own size' }).click()
  await page.keyboard.press('Escape')
  await large.waitFor({ state: 'detached' })
  await eventually('the focus is back', () => small.evaluate((element) => element === document.activeElement))
})

workbench('words stand in their own direction, and links that lead nowhere from here say where they would lead', async (daemon, openPage) => {
  await daemon.session('words')
  await daemon.say('words', 'echo שלום עולם\n\n[the loom](src/loom.rs:12) and [part](#part)')
  const page = await openPage({ hash: session('words') })
  const answer = conversation(page).getByRole('article', { name: 'Agent' })
  await answer.getByText('src/loom.rs:12').waitFor()
  const direction = (text) => answer.locator('p', { hasText: text }).evaluate((element) => getComputedStyle(element).direction)
  assert.equal(await direction('שלום'), 'rtl')
  assert.equal(await direction('the loom'), 'ltr')
  assert.equal(await answer.getByRole('link').count(), 0)
  await composer(page).fill('שלום')
  await eventually('it is written from the right', () => composer(page).evaluate((element) => getComputedStyle(element).direction === 'rtl'))

  // Everywhere that words of people and agents stand.
  const [hebrew, latin] = ['שלום עולם', 'words']
  await daemon.import('everywhere', Daemon.turn('everywhere', [
    ['thinking', { block_id: 'k', text: `${hebrew} thought`, done: true }],
    ['plan_updated', { steps: [{ text: `${hebrew} step`, status: 'pending' }, { text: `${latin} step`, status: 'done' }] }],
    ['permission_request', { ask_id: 'p', tool_name: 'Bash', tool_input: { command: 'ls' }, title: 'Run ls', options: [] }],
    ['permission_resolved', { ask_id: 'p', tool_name: 'Bash', allowed: false, reply: 'reject', by: 'ann', reason: hebrew }],
  ]))
  await visit(daemon, page, 'everywhere')
  await answer.getByRole('button', { name: /Thought/ }).click()
  const of = (locator) => locator.evaluate((element) => getComputedStyle(element).direction)
  assert.equal(await of(answer.getByText(`${hebrew} thought`)), 'rtl')
  assert.equal(await of(answer.getByText(`${hebrew} step`)), 'rtl')
  assert.equal(await of(answer.getByText(`${latin} step`)), 'ltr')
  await daemon.session('asks')
  await daemon.say('asks', 'question')
  await visit(daemon, page, 'asks')
  await page.getByRole('button', { name: /Silk/ }).waitFor()
  assert.equal(await page.getByText('Silk', { exact: true }).getAttribute('dir'), 'auto')
  await page.getByRole('button', { name: 'Do not answer' }).click()
  await send(page, 'permission')
  await page.getByRole('button', { name: /^Reject/ }).click()
  const reason = page.getByPlaceholder('Reason for the agent (optional)')
  await reason.fill(hebrew)
  await eventually('the reason is written from the right', async () => (await of(reason)) === 'rtl')
})

workbench('a message that could not be sent says why, keeps its words, and is sent once when it is sent again', async (daemon, openPage) => {
  await daemon.session('lost')
  const page = await openPage({ hash: session('lost') })
  await composer(page).waitFor()
  await page.route('**/api/sessions/lost/message', (route) => route.abort())
  await send(page, 'echo only once')
  await page.getByText('The daemon does not answer.').first().waitFor()
  await page.unroute('**/api/sessions/lost/message')
  await page.getByRole('button', { name: 'Send again' }).click()
  await conversation(page).getByRole('article', { name: 'Agent' }).getByText('only once').waitFor()
  assert.equal(await conversation(page).getByRole('article', { name: 'You' }).count(), 1)
})
