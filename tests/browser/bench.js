// How the page feels, in numbers: run by `cargo xtask bench-page`, against a release build.

import { gzipSync, brotliCompressSync } from 'node:zlib'

import { Daemon, close, conversation, open } from './support.js'

/** Notes the tasks of the main thread from here on that take more than 50 ms (browsers do not tell of shorter ones), and the time between frames. */
const watchTasks = (page) =>
  page.evaluate(() => {
    window.tasks = []
    window.frames = []
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' })
    let last = performance.now()
    const frame = (now) => {
      window.frames.push(now - last)
      last = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })

/** How busy the page's process was in so many seconds, in per cent of a processor. */
async function busy(page, seconds) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const worked = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value
  const before = await worked()
  await page.waitForTimeout(seconds * 1_000)
  const spent = (await worked()) - before
  await session.detach()
  return (spent / seconds) * 100
}

/** From the daemon's word on the wire to the bubble in the page: the median over turns that begin, while others run. */
async function bubbles(daemon, page, ids) {
  const times = []
  for (const id of ids) {
    const seen = page.evaluate(
      (id) =>
        new Promise((resolve) => {
          const look = () => {
            const row = document.querySelector(`.row a[href$="/${id}"]`)
            if (row?.querySelector('.bubble')) resolve(Date.now())
            else requestAnimationFrame(look)
          }
          look()
        }),
      id,
    )
    await daemon.say(id, 'hang')
    const shown = await seen
    const { events } = await daemon.call('GET', `/api/sessions/${id}/events?types=turn_started`)
    times.push(shown - Date.parse(events.at(-1).ts))
  }
  return times.sort((a, b) => a - b)
}

const rows = []
const row = (what, value, aim) => rows.push(`| ${what} | ${value} | ${aim} |`)
const ms = (value) => `${Math.round(value)} ms`

const daemon = await Daemon.start(['--no-sample', '--durability', 'process'])
try {
  // 200 pieces a second, 200 KB in all, in one message.
  await daemon.session('stream')
  const { page, context } = await open(daemon, { hash: '#/s/stream' })
  await conversation(page).waitFor()
  await watchTasks(page)
  await daemon.say('stream', 'prose 1000 200 200')
  await daemon.untilIdle('stream')
  const content = await daemon.content('stream')
  await page.waitForFunction((tail) => document.querySelector('[role=log]').textContent.includes(tail), content.trim().slice(-12))
  const { tasks, frames } = await page.evaluate(() => ({ tasks: window.tasks, frames: window.frames.toSorted((a, b) => a - b) }))
  const size = `${Math.round(content.length / 1000)} KB stream in at 200 pieces/s`
  row(`longest task while ${size}`, tasks.length === 0 ? 'none over 50 ms' : `${ms(Math.max(...tasks))}, ${tasks.length} over 50 ms`, 'under 50 ms')
  row(`time between frames meanwhile (median, 95 %, longest)`, [0.5, 0.95, 1].map((part) => ms(frames[Math.ceil(frames.length * part) - 1])).join(', '), '17 ms')
  await context.close()

  // A session of 5,000 messages, from the click to its newest message.
  await daemon.longSession('long', 2500)
  const second = await open(daemon)
  const opened = []
  for (let round = 0; round < 5; round++) {
    await second.page.goto(`${daemon.url}/#/`)
    await second.page.reload()
    await second.page.getByText('long').first().waitFor()
    opened.push(
      await second.page.evaluate(
        () =>
          new Promise((resolve) => {
            const start = performance.now()
            location.hash = '#/s/long'
            const look = () => {
              // Asking for the text as it is seen would itself cost a layout.
              const log = document.querySelector('[role=log]')
              if (log?.textContent.includes('number 2499')) setTimeout(() => resolve(performance.now() - start))
              else requestAnimationFrame(look)
            }
            look()
          }),
      ),
    )
  }
  opened.sort((a, b) => a - b)
  row('opening a session of 5,000 messages, to the newest on the screen (first, median of 5)', `${ms(opened.at(-1))}, ${ms(opened[2])}`, 'under 300 ms')
  await second.context.close()

  // 1,000 sessions, of which 50 run; how soon others are seen to begin, and what it costs while nothing happens and while they talk.
  const all = Array.from({ length: 1_000 }, (_, at) => `many-${at}`)
  for (let at = 0; at < all.length; at += 50) await Promise.all(all.slice(at, at + 50).map((id) => daemon.session(id)))
  const many = await open(daemon, { hash: '#/s/many-0' })
  await conversation(many.page).waitFor()
  await many.page.waitForTimeout(3_000)
  row('processor, with 1,000 sessions and nothing running', `${(await busy(many.page, 10)).toFixed(1)} %`, 'near 0')
  const running = all.slice(-70, -20)
  for (const id of running) await daemon.say(id, 'stream 1000000 20 4')
  const begun = await bubbles(daemon, many.page, all.slice(-20))
  row('from an event to its bubble, 50 running (median, 95 %)', `${ms(begun[9])}, ${ms(begun[18])}`, 'under 100 ms')
  row('processor meanwhile', `${(await busy(many.page, 10)).toFixed(1)} %`, '')
  for (const id of [...running, ...all.slice(-20)]) await daemon.call('POST', `/api/sessions/${id}/stop`, {})
  await many.context.close()

  // What the first load brings.
  const scripts = []
  const third = await open(daemon)
  third.page.on('response', async (response) => {
    if (response.url().endsWith('.js')) scripts.push(response.body())
  })
  await third.page.goto(`${daemon.url}/#/s/long`)
  await third.page.reload()
  await conversation(third.page).getByText('number 2499').waitFor()
  const bodies = await Promise.all(scripts)
  const sizeOf = (compress) => `${Math.round(bodies.reduce((sum, body) => sum + compress(body).length, 0) / 1024)} KiB`
  row('JavaScript at first load, gzip and brotli', `${sizeOf(gzipSync)}, ${sizeOf(brotliCompressSync)}`, 'under 120 KB')
  await third.context.close()
} finally {
  await daemon.end()
  await close()
}
console.log(['| measure | value | aim |', '|---|---|---|', ...rows].join('\n'))
