// The development server. Pages talk to it, and it passes on what is for the daemon and adds the token, which so never gets into a page.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vite'

const daemon = process.env.TURNLOOM_URL ?? 'http://127.0.0.1:7171'
const data = process.env.TURNLOOM_DATA ?? join(homedir(), '.local/share/turnloom')

function allow(request, { headers }) {
  const token = process.env.TURNLOOM_TOKEN ?? readFileSync(join(data, 'token'), 'utf8').trim()
  request.setHeader('authorization', `Bearer ${token}`)
  // Our own pages may; to the daemon they are strangers. What other people's pages send, it is to refuse.
  if (headers.origin === `http://${headers.host}`) request.removeHeader('origin')
}

const toDaemon = {
  target: daemon,
  changeOrigin: true,
  ws: true,
  configure: (proxy) => proxy.on('proxyReq', allow).on('proxyReqWs', allow),
}

export default defineConfig({
  // The SDK is a link to its folder here, and must not look for a React of its own.
  resolve: { dedupe: ['react'] },
  server: { host: '127.0.0.1', proxy: { '/api': toDaemon, '/ai-sdk': toDaemon, '/ag-ui': toDaemon } },
})
