// The worker of docs/sdk.md, made by Vite from the very lines that the page shows: two pages, one WebSocket.

import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { build } from 'vite'

import { close, launch } from '../../tests/browser/support.js'
import { Daemon, eventually } from '../../tests/support/daemon.js'

/** Where the packages of the examples are found. */
const root = fileURLToPath(new URL('../node_modules/.worker', import.meta.url))
const guide = new URL('../../docs/sdk.md', import.meta.url)

after(close)

async function make() {
  const [, shown] = (await readFile(guide, 'utf8')).match(/```ts\n(import workerUrl .*?)```/s)
  const before = `import { Turnloom } from 'turnloom'\nconst { url, token } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))\n`
  const rest = `async function show() {
    for await (const asks of turnloom.streamAsks()) document.body.textContent = 'asks: ' + asks.length
  }
  void show()`
  await rm(root, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  await writeFile(`${root}/main.js`, `${before}${shown}${rest}`)
  await writeFile(`${root}/index.html`, '<!doctype html><body></body><script type="module" src="/main.js"></script>')
  await build({ root, configFile: false, logLevel: 'error' })
}

async function serve({ url }, response) {
  const path = new URL(url, 'http://files').pathname
  const content = await readFile(`${root}/dist${path === '/' ? '/index.html' : path}`).catch(() => null)
  const type = extname(path) === '.js' ? 'text/javascript' : 'text/html'
  response.writeHead(content ? 200 : 404, { 'content-type': type }).end(content)
}

test('all pages share one WebSocket', async (t) => {
  await make()
  const server = createServer(serve)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => (server.closeAllConnections(), server.close()))
  const origin = `http://127.0.0.1:${server.address().port}`
  const daemon = await Daemon.start({ config: `origins = ["${origin}"]` })
  t.after(() => daemon.stop())
  const context = await (await launch()).newContext()
  t.after(() => context.close())
  const pages = [await context.newPage(), await context.newPage()]
  for (const page of pages) {
    await page.goto(`${origin}/#${new URLSearchParams({ url: daemon.url, token: daemon.token })}`)
    await page.getByText('asks: 0').waitFor()
  }
  await daemon.session('s')
  await daemon.call('POST', '/api/sessions/s/message', { message: 'permission' })
  for (const page of pages) await page.getByText('asks: 1').waitFor()
  const metrics = await (await fetch(`${daemon.url}/metrics`, { headers: daemon.headers })).text()
  assert.match(metrics, /^turnloom_sockets 1$/m)
  await daemon.answer('s')
  await eventually('the turn ends', async () => (await daemon.show('s')).status === 'idle')
})
