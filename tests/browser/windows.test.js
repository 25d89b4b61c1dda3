// Many windows of one browser on one daemon. A browser allows six connections for ordinary requests; what the pages follow must not take them.

import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'

import { PATIENCE, composer, conversation, eventually, send, session, workbench } from './fixture.js'

const WINDOWS = 8

/** More windows of the same browser, each with a session of its own. */
async function openWindows(daemon, openPage) {
  const ids = Array.from({ length: WINDOWS }, (_, at) => `window-${at}`)
  for (const id of ids) await daemon.session(id)
  const first = await openPage({ hash: session(ids[0]) })
  const pages = [first]
  for (const id of ids.slice(1)) {
    const page = await first.context().newPage()
    page.setDefaultTimeout(PATIENCE)
    await page.goto(`${daemon.url}/${session(id)}`)
    pages.push(page)
  }
  return { ids, pages }
}

async function allAreLive(daemon, { ids, pages }) {
  for (const page of pages) await composer(page).waitFor()
  for (const id of ids) await daemon.say(id, `echo to ${id}`)
  for (const [at, page] of pages.entries()) await conversation(page).getByText(`to ${ids[at]}`).last().waitFor()
  // And what happens in one is seen in the list of all.
  await daemon.say(ids.at(-1), 'permission')
  for (const page of pages) await page.getByRole('navigation', { name: 'Sessions', exact: true }).getByText('Needs you').waitFor()
}

async function sockets(daemon) {
  const text = await (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text()
  return Number(/turnloom_sockets (\d+)/.exec(text)?.[1])
}

workbench('eight windows are live, the first can send, and they share one connection', async (daemon, openPage) => {
  const windows = await openWindows(daemon, openPage)
  await allAreLive(daemon, windows)
  await send(windows.pages[0], 'echo from the first')
  await conversation(windows.pages[0]).getByText('from the first').last().waitFor()
  await eventually('they share one', async () => (await sockets(daemon)) === 1)
  // Windows that are closed take nothing with them.
  await windows.pages[7].close()
  await daemon.say(windows.ids[6], 'echo still here')
  await conversation(windows.pages[6]).getByText('still here').last().waitFor()
})

workbench('without shared workers each window has a WebSocket of its own, and eight are live', async (daemon, openPage) => {
  const first = await openPage()
  await first.context().addInitScript(() => delete globalThis.SharedWorker)
  const windows = await openWindows(daemon, async ({ hash }) => {
    await first.goto(`${daemon.url}/${hash}`)
    await first.reload()
    return first
  })
  assert.equal(await first.evaluate(() => typeof SharedWorker), 'undefined')
  await allAreLive(daemon, windows)
  await send(windows.pages[0], 'echo from the first')
  await conversation(windows.pages[0]).getByText('from the first').last().waitFor()
})

workbench('where WebSockets do not get through a page is live all the same', async (daemon, openPage) => {
  await daemon.session('plain')
  const page = await openPage()
  await page.context().addInitScript(() => {
    delete globalThis.SharedWorker
    // As behind a proxy that takes the upgrade away: it closes before it has opened.
    globalThis.WebSocket = class {
      static OPEN = 1
      constructor() {
        setTimeout(() => this.onclose?.())
      }
      close() {}
    }
  })
  await page.goto(`${daemon.url}/${session('plain')}`)
  await page.reload()
  await composer(page).waitFor()
  await send(page, 'echo by other means')
  await conversation(page).getByText('by other means').last().waitFor()
})

workbench('windows come back together when the daemon was killed', async (daemon, openPage) => {
  for (const id of ['left', 'right']) await daemon.session(id)
  const left = await openPage({ hash: session('left') })
  const right = await left.context().newPage()
  await right.goto(`${daemon.url}/${session('right')}`)
  for (const page of [left, right]) await composer(page).waitFor()
  await daemon.kill()
  for (const page of [left, right]) await page.getByText('The daemon does not answer.').first().waitFor()
  await daemon.again()
  for (const [page, id] of [[left, 'left'], [right, 'right']]) {
    await daemon.say(id, `echo back ${id}`)
    await conversation(page).getByText(`back ${id}`).last().waitFor()
  }
})

workbench('a window that nobody looks at gives its stream back and goes on where it was', async (daemon, openPage) => {
  await daemon.session('hidden')
  const page = await openPage({ hash: session('hidden') })
  await composer(page).waitFor()
  await page.clock.install()
  await page.reload()
  await composer(page).waitFor()
  await send(page, 'echo before')
  await conversation(page).getByText('before').last().waitFor()
  const followers = async () => {
    const text = await (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })).text()
    return Number(/turnloom_followers (\d+)/.exec(text)[1])
  }
  const look = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
      document.dispatchEvent(new Event('visibilitychange'))
    }, state)
  // The view, the list of sessions, the inbox, and the tasks.
  await eventually('four streams', async () => (await followers()) === 4)
  await look('hidden')
  await page.clock.runFor(31_000)
  await eventually('the view rests', async () => (await followers()) === 3)
  await daemon.say('hidden', 'echo meanwhile')
  await daemon.untilIdle('hidden')
  assert.equal(await conversation(page).getByText('meanwhile').count(), 0)
  await look('visible')
  await conversation(page).getByText('meanwhile').last().waitFor()
  await eventually('four streams again', async () => (await followers()) === 4)
})

/** The daemon, as it looks through a proxy that passes on everything but upgrades. */
async function withoutUpgrades(daemon) {
  const { host } = new URL(daemon.url)
  const seen = []
  const server = createServer((incoming, outgoing) => {
    const { connection, upgrade, ...headers } = incoming.headers
    seen.push({ path: incoming.url, upgrade })
    if (headers.origin) headers.origin = daemon.url
    const upstream = request(daemon.url + incoming.url, { method: incoming.method, headers: { ...headers, host } }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
    })
    upstream.on('error', () => outgoing.destroy())
    outgoing.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = Object.assign(Object.create(daemon), { url: `http://127.0.0.1:${server.address().port}` })
  const end = () => {
    server.closeAllConnections()
    server.close()
  }
  return { through, seen, end }
}

workbench('where a proxy takes upgrades away eight windows are live, the first can send, and they share one connection', async (daemon, openPage) => {
  const { through, seen, end } = await withoutUpgrades(daemon)
  try {
    const windows = await openWindows(through, (options) => openPage(options, through))
    await allAreLive(daemon, windows)
    await send(windows.pages[0], 'echo from the first')
    await conversation(windows.pages[0]).getByText('from the first').last().waitFor()
    assert.ok(seen.some(({ upgrade }) => upgrade === 'websocket'), 'WebSockets were tried')
    const streams = seen.filter(({ path }) => path.includes('/view/stream'))
    assert.deepEqual(streams, [], 'no window has a stream of its own')
    await eventually('one socket', async () => (await sockets(daemon)) === 1)
    await windows.pages[7].close()
    await daemon.say(windows.ids[6], 'echo still here')
    await conversation(windows.pages[6]).getByText('still here').last().waitFor()
  } finally {
    end()
  }
})

// Without a worker as well each window has two connections, for its session and for the tasks; a browser allows six.
workbench('without WebSockets several windows are live, and the first can still send', async (daemon, openPage) => {
  const ids = ['first', 'second']
  for (const id of ids) await daemon.session(id)
  const first = await openPage({ hash: session('first'), sse: true })
  const pages = [first]
  for (const id of ids.slice(1)) {
    const page = await first.context().newPage()
    page.setDefaultTimeout(PATIENCE)
    await page.goto(`${daemon.url}/${session(id)}`)
    await composer(page).waitFor()
    pages.push(page)
  }
  await allAreLive(daemon, { ids, pages })
  await send(first, 'echo from the first')
  await conversation(first).getByRole('article', { name: 'Agent' }).getByText('from the first').waitFor()
})
