// What the tests of the examples share: the pages are served as a developer serves them, the daemon and the browser are real.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createServer as createVite } from 'vite'

import { close, launch } from '../../tests/browser/support.js'
import { Daemon, eventually } from '../../tests/support/daemon.js'

export { eventually }

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }
const PACKAGES = [
  '@ag-ui/client',
  '@ai-sdk/react',
  'ai',
  'react',
  'react-dom/client',
  'react/jsx-dev-runtime',
  'turnloom',
  'turnloom/react',
]
const PATIENCE = 30_000

/** A server whose address is known before it is known what it serves: the daemon must hear of it first. */
async function listen() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

/** The daemon, a development server that stands before it, another one whose pages call it themselves, and plain files. */
export class Stage {
  static async open() {
    const stage = new Stage()
    await launch() // one browser for all pages, also for those that come at once
    stage.servers = await Promise.all([listen(), listen(), listen()])
    const [proxied, direct, files] = stage.servers
    stage.daemon = await Daemon.start({ config: `origins = ["${direct.url}", "${files.url}"]` })
    process.env.TURNLOOM_URL = stage.daemon.url
    process.env.TURNLOOM_TOKEN = stage.daemon.token
    stage.proxied = await stage.develop(proxied, {})
    stage.direct = await stage.develop(direct, {
      VITE_TURNLOOM_URL: stage.daemon.url,
      VITE_TURNLOOM_TOKEN: stage.daemon.token,
    })
    files.server.on('request', serveFile)
    const secrets = new URLSearchParams({ token: stage.daemon.token, url: stage.daemon.url })
    stage.pages = {
      react: (session) => `${proxied.url}/react/#${session}`,
      'react, straight to the daemon': (session) => `${direct.url}/react/#${session}`,
      components: (session) => `${proxied.url}/components/#${session}`,
      'components, straight to the daemon': (session) => `${direct.url}/components/#${session}`,
      'use-chat': (session) => `${proxied.url}/use-chat/#${session}`,
      'use-chat, straight to the daemon': (session) => `${direct.url}/use-chat/#${session}`,
      'http-agent': (session) => `${proxied.url}/http-agent/#${session}`,
      'http-agent, straight to the daemon': (session) => `${direct.url}/http-agent/#${session}`,
      sdk: (session) => `${files.url}/examples/sdk/index.html#${secrets}&session=${session}`,
      'sdk, from an origin that is not listed': () =>
        `${files.url.replace('127.0.0.1', 'localhost')}/examples/sdk/index.html#${secrets}`,
      'sdk, with a wrong token': () => `${files.url}/examples/sdk/index.html#url=${stage.daemon.url}&token=wrong`,
    }
    return stage
  }

  async develop({ server }, env) {
    const define = Object.entries(env).map(([name, value]) => [`import.meta.env.${name}`, JSON.stringify(value)])
    const vite = await createVite({
      root: `${REPOSITORY}examples`,
      cacheDir: `node_modules/.vite/${define.length}`, // two that run at once must not share it
      logLevel: 'error',
      define: Object.fromEntries(define),
      // All is known before: a server that finds another package later loads the pages again, in the middle of a test.
      optimizeDeps: { include: PACKAGES, noDiscovery: true },
      // The server is named twice: for what the pages load, and for the WebSockets that are passed on.
      server: { middlewareMode: { server }, ws: { server }, watch: null },
    })
    server.on('request', vite.middlewares)
    return vite
  }

  async close() {
    await close()
    await Promise.all([this.proxied.close(), this.direct.close()])
    for (const { server } of this.servers) {
      server.closeAllConnections()
      server.close()
    }
    await this.daemon.stop()
  }

  /** A page with everything that went wrong in it. */
  async visit(name, session, options = {}) {
    const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(PATIENCE)
    const wrong = []
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
    await page.goto(this.pages[name](session))
    const log = page.getByRole('log', { name: 'Conversation' })
    const say = async (text) => {
      await page.getByLabel('Message').fill(text)
      await page.getByLabel('Message').press('Enter')
    }
    return { page, context, wrong, log, say }
  }
}

async function serveFile({ url }, response) {
  const path = new URL(url, 'http://files').pathname
  const known = /^\/(examples\/(sdk\/|page\.css)|sdk\/typescript\/dist\/)/.test(path)
  const content = known ? await readFile(REPOSITORY + path.slice(1)).catch(() => null) : null
  response.writeHead(content ? 200 : 404, { 'content-type': TYPES[extname(path)] ?? 'text/plain' }).end(content)
}
