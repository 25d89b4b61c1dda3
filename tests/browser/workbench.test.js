// The workbench as people use it: the real page in a real browser, the real daemon and its mock agent behind it.

import assert from 'node:assert/strict'

import { axeFindings, composer, conversation, eventually, none, send, session, toTop, visit, workbench } from './fixture.js'

workbench('a newcomer finds somebody to talk to, and sees the whole demo', async (daemon, openPage) => {
  const page = await openPage()
  await page.getByText('Try me').first().click()
  await conversation(page).getByText('I am the mock agent').waitFor()
  await daemon.untilIdle('try-me')
  await send(page, 'demo')
  await page.getByRole('button', { name: /Allow once/ }).click()
  const indigo = page.getByRole('button', { name: /Indigo/ })
  // The conversation still moves while the question comes in, and a click may miss it.
  await eventually('the next question', async () => {
    if (!(await indigo.isVisible())) await page.getByRole('button', { name: /Silk/ }).click({ timeout: 2000 }).catch(() => {})
    return indigo.isVisible()
  })
  await indigo.click()
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await conversation(page).getByText('That was all.').waitFor()
  await daemon.untilIdle('try-me')
  for (const text of ['Weaving', 'Explorer', 'weave.txt', 'Three tools worked']) {
    await conversation(page).getByText(text).first().waitFor()
  }
})

workbench('the page catches up when the daemon was killed in the middle of a stream', async (daemon, openPage) => {
  await daemon.session('killed')
  const page = await openPage({ hash: session('killed') })
  await composer(page).waitFor()
  await daemon.say('killed', 'stream 4000 20 800')
  await conversation(page).getByText('40 xxx').first().waitFor()
  await composer(page).fill('a draft that must stay')
  await daemon.kill()
  await page.getByText(/offline|reconnect|connection/i).first().waitFor()
  await daemon.again()
  await daemon.untilIdle('killed')
  const truth = await daemon.content('killed')
  const shown = () => conversation(page).innerText()
  await eventually('the page shows what the log says', async () => {
    const text = (await shown()).replace(/\s+/g, ' ')
    return text.includes(truth.trim().slice(-30).replace(/\s+/g, ' '))
  })
  const words = truth.trim().split(/\s+/)
  const text = (await shown()).replace(/\s+/g, ' ')
  assert.ok(text.includes(words.join(' ')), 'the text is exactly what the log says')
  // Every piece has its number, so a piece that is there twice shows.
  const last = words.at(-2)
  assert.equal(text.split(`${last} `).length - 1, 1, `${last} is there once`)
  assert.equal(await composer(page).inputValue(), 'a draft that must stay')
})

workbench('two tabs show one session, and an answer in one settles both', async (daemon, openPage) => {
  await daemon.session('shared')
  const [left, right] = [await openPage({ hash: session('shared') }), await openPage({ hash: session('shared') })]
  await composer(left).waitFor()
  await send(left, 'permission')
  await right.getByRole('button', { name: /Allow once/ }).waitFor()
  await left.getByRole('button', { name: /Allow once/ }).click()
  for (const page of [left, right]) {
    await conversation(page).getByText('Done, with your permission.').waitFor()
    await none(page.getByRole('button', { name: /Allow once/ }))
  }
})

workbench('what an agent says is shown and never run', async (daemon, openPage) => {
  await daemon.session('hostile')
  const page = await openPage({ hash: session('hostile') })
  await page.evaluate(() => { window.hacked = false })
  for (const text of [
    '<img src=x onerror="window.hacked=true"> <script>window.hacked=true</script>',
    '[click](javascript:window.hacked=true) ![x](https://elsewhere.invalid/a.png)',
    '<svg onload="window.hacked=true"></svg> <iframe src="javascript:window.hacked=true"></iframe>',
  ]) {
    await daemon.say('hostile', `echo ${text}`)
    await daemon.untilIdle('hostile')
  }
  await conversation(page).getByText('iframe').first().waitFor()
  assert.equal(await page.evaluate(() => window.hacked), false)
  assert.equal(await page.locator('[role=log] :is(script, iframe, img[src^="http"], a[href^="javascript"])').count(), 0)
})

workbench('a message waits, is taken out, and a turn is stopped, with the keyboard alone', async (daemon, openPage) => {
  await daemon.session('keys')
  const page = await openPage({ hash: session('keys') })
  await composer(page).focus()
  await page.keyboard.type('hang')
  await page.keyboard.press('Enter')
  await conversation(page).getByText('Waiting.').waitFor()
  await page.keyboard.type('echo never')
  await page.keyboard.press('Enter')
  await page.getByLabel('Messages that wait').getByText('echo never').waitFor()
  await page.getByRole('button', { name: /Remove from the queue: echo never/ }).press('Enter')
  await page.getByText('echo never').waitFor({ state: 'detached' })
  await composer(page).focus()
  await page.keyboard.press('Escape')
  await daemon.untilIdle('keys')
  await conversation(page).getByText(/stopped/i).first().waitFor()
})

workbench('a large output stays out of the page until it is wanted', async (daemon, openPage) => {
  await daemon.session('large')
  await daemon.say('large', 'big 10000000')
  await daemon.untilIdle('large')
  const page = await openPage({ hash: session('large') })
  await conversation(page).getByText('cat big.log').first().click()
  const output = page.getByLabel('Output', { exact: true })
  await output.waitFor()
  const earlier = page.getByRole('button', { name: 'Earlier' })
  for (let n = 0; n < 3; n++) await earlier.click()
  const size = (await output.textContent()).length
  assert.ok(size <= 64 * 1024, `${size} characters of it in the page`)
})

workbench('five thousand messages open at their end and go back by page', async (daemon, openPage) => {
  await daemon.longSession('long', 2500)
  await daemon.agree('long')
  const page = await openPage({ hash: session('long') })
  await conversation(page).getByText('number 2499').waitFor()
  const messages = () => conversation(page).getByRole('article').count()
  assert.ok((await messages()) < 200, `${await messages()} messages in the page`)
  await eventually('older messages come', async () => {
    await toTop(page)
    return (await conversation(page).getByText('number 2470').count()) > 0
  })
  // And what comes in now is still seen at the end.
  await page.getByRole('button', { name: /newest/i }).click()
  await send(page, 'echo the newest of all')
  await conversation(page).getByRole('article', { name: 'Agent' }).last().getByText('the newest of all').waitFor()
})

workbench('who is not signed in is told how', async (daemon, openPage) => {
  const page = await openPage()
  await page.context().clearCookies()
  await page.goto(daemon.url)
  await page.getByText('turnloom open').first().waitFor()
})

workbench('it can be used on a phone', async (daemon, openPage) => {
  await daemon.session('phone')
  const page = await openPage({ hash: session('phone'), viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
  await composer(page).waitFor()
  await send(page, 'tool')
  await conversation(page).getByText('Three tools worked').waitFor()
  await eventually('it is not too wide', () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
})

for (const colorScheme of ['light', 'dark']) {
  workbench(`nothing serious stands in the way of a screen reader (${colorScheme})`, async (daemon, openPage) => {
    await daemon.session('axe')
    await daemon.say('axe', 'demo')
    // With all that stands around a conversation: tabs, a panel, the inspector.
    // What is still fading in has not the contrast that it will have.
    const page = await openPage({ hash: session('try-me'), colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
    await composer(page).waitFor()
    await visit(daemon, page, 'axe')
    await page.getByRole('button', { name: /Allow once/ }).waitFor()
    await page.keyboard.press('Control+.')
    await page.getByRole('tab', { name: 'Inspector', selected: true }).waitFor()
    await page.getByRole('button', { name: /turn_started/ }).waitFor()
    assert.deepEqual(await axeFindings(page), [])
  })
}
