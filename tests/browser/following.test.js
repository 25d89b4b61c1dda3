// Staying at the end of a conversation: only a person leaves it, and whoever leaves is left alone.

import assert from 'node:assert/strict'

import { composer, conversation, eventually, send, session, showView, workbench } from './fixture.js'

const distance = (page) => conversation(page).evaluate((log) => log.scrollHeight - log.clientHeight - log.scrollTop)
const atEnd = (page, what) => eventually(what, async () => (await distance(page)) < 4)
const newest = (page) => page.getByRole('button', { name: 'Jump to newest' })

/** Waits until nothing has moved for some frames. */
const rest = (page) =>
  conversation(page).evaluate(
    (log) =>
      new Promise((resolve) => {
        let [last, still] = ['', 0]
        const look = () => {
          const now = `${log.scrollTop} ${log.scrollHeight}`
          still = now === last ? still + 1 : 0
          last = now
          if (still > 10) resolve()
          else requestAnimationFrame(look)
        }
        look()
      }),
  )

/** What the browser does by itself when something above changes its height. */
const shift = (page, by) => conversation(page).evaluate((log, by) => (log.scrollTop -= by), by)

async function longAnswers(daemon, id, count) {
  const events = [['session_ready', { session_id: id, runtime: 'mock', title: id }]]
  for (let n = 0; n < count; n++) {
    const text = Array.from({ length: 60 }, (_, at) => `Paragraph ${at} of answer ${n}, long enough to fill a line and some more.`).join('\n\n')
    events.push(
      ['user_message', { message_id: `m${n}`, content: [{ type: 'text', text: `say ${n}` }], origin: 'user' }, `t${n}`],
      ['turn_started', { message_ids: [`m${n}`], origin: 'user' }, `t${n}`],
      ['delta', { block_id: 'b', text, done: true }, `t${n}`],
      ['done', { outcome: 'completed' }, `t${n}`],
    )
  }
  await daemon.import(id, events)
  await daemon.agree(id)
}

workbench('after sending, the newest stays in sight, however long the answers before were', async (daemon, openPage) => {
  await longAnswers(daemon, 'long', 8)
  const page = await openPage({ hash: session('long') })
  await conversation(page).getByText('Paragraph 59 of answer 7').waitFor()
  for (let n = 0; n < 8; n++) {
    await send(page, n % 2 ? 'prose 40 300 200' : `echo and ${n}\n\n${'one more line\n\n'.repeat(40)}`)
    await daemon.untilIdle('long')
    await eventually('the turn is on the page', async () => (await page.getByRole('button', { name: 'Stop', exact: true }).count()) === 0)
    await rest(page)
    assert.equal(await newest(page).count(), 0, `following ended at message ${n}`)
    await atEnd(page, `the end of message ${n} is in sight`)
  }
})

workbench('a movement that nobody made does not end following', async (daemon, openPage) => {
  await longAnswers(daemon, 'shifts', 4)
  const page = await openPage({ hash: session('shifts') })
  await conversation(page).getByText('Paragraph 59 of answer 3').waitFor()
  await rest(page)
  await daemon.say('shifts', 'prose 10000 50 50')
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
  for (let n = 0; n < 5; n++) {
    await shift(page, 700)
    await atEnd(page, 'it is back at the end')
    assert.equal(await newest(page).count(), 0)
  }
  await daemon.call('POST', '/api/sessions/shifts/stop', {})
  await daemon.untilIdle('shifts')
  await atEnd(page, 'the end is in sight')
})

const LEAVING = [
  ['the wheel', async (page) => {
    await conversation(page).hover()
    await page.mouse.wheel(0, -300)
  }],
  ['a key', async (page) => {
    await conversation(page).focus()
    await page.keyboard.press('PageUp')
  }],
  ['the scrollbar', async (page) => {
    // A browser tells of a scrollbar that is taken as of the element it belongs to.
    await conversation(page).dispatchEvent('pointerdown', { buttons: 1 })
    await shift(page, 300)
  }],
  ['the focus', async (page) => {
    await conversation(page).evaluate((log) => {
      const article = log.querySelector('article')
      article.tabIndex = -1
      article.focus()
    })
  }],
]
for (const [what, leave] of LEAVING) {
  workbench(`whoever leaves the end by ${what} is left alone while text comes in, and can come back`, async (daemon, openPage) => {
    await longAnswers(daemon, 'leave', 3)
    const page = await openPage({ hash: session('leave') })
    await conversation(page).getByText('Paragraph 59 of answer 2').waitFor()
    await rest(page)
    await daemon.say('leave', 'prose 10000 50 50')
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await leave(page)
    await newest(page).waitFor()
    // What is in sight; what is far away has a height that the browser still guesses. It is looked at once it has come to rest.
    const place = await conversation(page).evaluateHandle((log) => {
      const { left, top, width, height } = log.getBoundingClientRect()
      const middle = () => document.elementFromPoint(left + width / 2, top + height / 2)
      return new Promise((resolve) => {
        let [last, at, still] = [null, 0, 0]
        const look = () => {
          const now = middle()
          const y = now.getBoundingClientRect().top
          still = now === last && Math.abs(y - at) < 1 ? still + 1 : 0
          ;[last, at] = [now, y]
          if (still > 10) resolve(now)
          else requestAnimationFrame(look)
        }
        look()
      })
    })
    const before = await place.evaluate((element) => element.getBoundingClientRect().top)
    const length = () => conversation(page).getByRole('article').last().evaluate((article) => article.textContent.length)
    const then = await length()
    await eventually('more text has come', async () => (await length()) > then + 1_000)
    const after = await place.evaluate((element) => element.getBoundingClientRect().top)
    assert.ok(what === 'the wheel' || what === 'a key' || Math.abs(after - before) < 3, `what is read moved by ${after - before} px`)
    assert.equal(await newest(page).count(), 1)
    await newest(page).click()
    await atEnd(page, 'back at the end')
    await daemon.call('POST', '/api/sessions/leave/stop', {})
    await daemon.untilIdle('leave')
    await atEnd(page, 'and still there when the turn is over')
  })
}

workbench('a finger that pulls the page down leaves the end', async (daemon, openPage) => {
  await longAnswers(daemon, 'touch', 3)
  const page = await openPage({ hash: session('touch'), viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
  await conversation(page).getByText('Paragraph 59 of answer 2').waitFor()
  await rest(page)
  const touch = await page.context().newCDPSession(page)
  const point = (y) => [{ x: 190, y }]
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: point(200) })
  for (let y = 220; y <= 500; y += 20) await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: point(y) })
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await newest(page).waitFor()
  // A tap on a page that still glides only stops it.
  await rest(page)
  await composer(page).fill('echo back to the end')
  await page.getByRole('button', { name: 'Send', exact: true }).tap()
  await atEnd(page, 'whoever sends sees what comes')
})

workbench('Show leads to an ask further up and stays there, whatever comes in at the end', async (daemon, openPage) => {
  await daemon.session('ask')
  await daemon.say('ask', 'permission')
  const view = await eventually('it asks', async () => {
    const view = await daemon.call('GET', '/api/sessions/ask/view')
    return view.asks.length > 0 && view
  })
  // A helper talks on while another one asks.
  const text = Array.from({ length: 60 }, (_, at) => `Paragraph ${at} after the ask.`).join('\n\n')
  view.messages.at(-1).blocks.push({ id: 'after', kind: 'text', text, done: false })
  const page = await openPage({ sse: true })
  await showView(page, 'ask', view)
  await page.goto(`${daemon.url}/${session('ask')}`)
  await conversation(page).getByText('Paragraph 59 after').waitFor()
  await rest(page)
  const card = page.locator('.ask')
  const isSeen = () => card.evaluate((element) => element.getBoundingClientRect().top >= 0 && element.getBoundingClientRect().bottom <= innerHeight)
  await eventually('it is further up', async () => !(await isSeen()))
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await eventually('it is seen', isSeen)
  for (let n = 0; n < 3; n++) {
    await conversation(page).evaluate((log) => log.firstElementChild.append(Object.assign(document.createElement('p'), { textContent: 'more' })))
    await rest(page)
  }
  assert.equal(await isSeen(), true)
  await newest(page).waitFor()
})

workbench('answering an ask at the end by mouse or finger does not end following', async (daemon, openPage) => {
  await longAnswers(daemon, 'allow', 3)
  for (const [what, options] of [['the mouse', {}], ['a finger', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]]) {
    const page = await openPage({ hash: session('allow'), ...options })
    await conversation(page).getByText('Paragraph 59 of answer 2').waitFor()
    await daemon.say('allow', 'permission')
    const allow = page.getByRole('button', { name: /^Allow once/ })
    await allow.waitFor()
    await rest(page)
    await (options.hasTouch ? allow.tap() : allow.click())
    await allow.waitFor({ state: 'detached' })
    await daemon.untilIdle('allow')
    await rest(page)
    assert.equal(await newest(page).count(), 0, `following ended by ${what}`)
    await atEnd(page, `the end is in sight after ${what}`)
  }
})

workbench('closing a row at the end does not end following', async (daemon, openPage) => {
  await longAnswers(daemon, 'row', 3)
  await daemon.say('row', 'tool')
  await daemon.untilIdle('row')
  const page = await openPage({ hash: session('row') })
  const row = conversation(page).getByRole('article').last().locator('button[aria-expanded]').last()
  await row.waitFor()
  await rest(page)
  const shut = await row.getAttribute('aria-expanded') === 'false'
  if (shut) await row.click()
  await newest(page).or(row.and(page.locator('[aria-expanded=true]'))).first().waitFor()
  await atEnd(page, 'what was opened is followed')
  await rest(page)
  await row.click()
  await row.and(page.locator('[aria-expanded=false]')).waitFor()
  await rest(page)
  assert.equal(await newest(page).count(), 0)
  await atEnd(page, 'the end is in sight')
})
