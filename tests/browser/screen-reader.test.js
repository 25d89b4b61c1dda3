// Nothing stands in the way of a screen reader, at any moment: as an answer grows, as parts of the page come late, and with everything opened.

import assert from 'node:assert/strict'

import { axeFindings, conversation, eventually, session, workbench } from './fixture.js'

/** What the daemon tells of a session while its agent answers, frame by frame, until it asks. */
async function framesOf(daemon, id, command) {
  const frames = []
  const over = new AbortController()
  const response = await fetch(`${daemon.url}/api/sessions/${id}/view/stream`, { headers: { ...daemon.headers, accept: 'text/event-stream' }, signal: over.signal })
  const reading = (async () => {
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + piece).split('\n\n')
      rest = parts.pop()
      frames.push(...parts.filter((part) => part.includes('data:')))
    }
  })().catch(() => undefined)
  await eventually('the view begins', () => frames.length > 0)
  await daemon.say(id, command)
  await eventually('it asks', () => daemon.ask(id))
  await eventually('the page would hear of that', () => frames.some((frame) => frame.includes('"permission"')))
  over.abort()
  await reading
  return frames
}

/** Holds what the page loads on demand, until somebody lets it through. */
async function holdParts(page) {
  let isHeld = false
  const held = []
  await page.route('**/static/*.js', (route) => {
    if (isHeld) held.push(route)
    else return route.continue()
  })
  return {
    hold: () => (isHeld = true),
    letThrough: async () => {
      isHeld = false
      await Promise.all(held.splice(0).map((route) => route.continue()))
    },
  }
}

for (const [colorScheme, width] of [['light', 1280], ['dark', 1280], ['light', 900], ['dark', 390]])
  workbench(`at each moment of the demo, with parts that come late (${colorScheme}, ${width} px)`, async (daemon, openPage) => {
    await daemon.session('grows', { pace_ms: 15 })
    const frames = await framesOf(daemon, 'grows', 'demo')
    const page = await openPage({ sse: true, colorScheme, bypassCSP: true, reducedMotion: 'reduce', viewport: { width, height: 800 } })
    const parts = await holdParts(page)
    let upTo = 1
    await page.route('**/api/sessions/grows/view/stream*', (route) =>
      route.request().url().includes('after=') ? undefined : route.fulfill({ contentType: 'text/event-stream', body: `${frames.slice(0, upTo).join('\n\n')}\n\n` }),
    )
    await page.goto(`${daemon.url}/${session('grows')}`)
    for (const part of [0.15, 0.35, 0.55, 0.8, 1]) {
      upTo = Math.ceil(frames.length * part)
      await parts.letThrough()
      await page.reload()
      await conversation(page).waitFor()
      parts.hold()
      assert.deepEqual(await axeFindings(page), [], `${upTo} of ${frames.length} frames, and parts are missing`)
      await parts.letThrough()
      await eventually('nothing is on its way', async () => (await page.locator('.skeleton').count()) === 0)
      assert.deepEqual(await axeFindings(page), [], `${upTo} of ${frames.length} frames`)
    }
  })

for (const colorScheme of ['light', 'dark'])
  workbench(`with everything opened, long and short (${colorScheme})`, async (daemon, openPage) => {
    await daemon.session('opened')
    for (const said of ['echo ```rust\n```\n\nand ~~~\n~~~', 'big 20000', 'demo']) await daemon.say('opened', said)
    await eventually('it asks', () => daemon.ask('opened'))
    const page = await openPage({ hash: session('opened'), colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
    await page.getByRole('button', { name: /Allow once/ }).waitFor()
    // Bounded: rows inside of what opens are opened too.
    for (let n = 0; n < 40; n++) {
      const closed = conversation(page).locator('.blocks button[aria-expanded="false"]')
      if ((await closed.count()) === 0) break
      await closed.first().click()
    }
    assert.deepEqual(await axeFindings(page), [])
    await page.keyboard.press('Control+.')
    await page.getByRole('button', { name: /user_message/ }).first().waitFor()
    await page.getByRole('button', { name: /tool_result/ }).last().click()
    assert.deepEqual(await axeFindings(page), [])
  })

workbench('a command that is longer than its place is reached by key', async (daemon, openPage) => {
  await daemon.session('long', { mode: 'implement' })
  await daemon.say('long', `bash npm publish ${'--tag next '.repeat(400)}`)
  const page = await openPage({ hash: session('long'), bypassCSP: true, reducedMotion: 'reduce' })
  await page.getByRole('button', { name: /Allow once/ }).waitFor()
  assert.deepEqual(await axeFindings(page), [])
  assert.equal(await page.getByRole('group', { name: 'The command' }).getAttribute('tabindex'), '0', 'what scrolls can be reached by key')
})
