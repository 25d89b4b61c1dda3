// Who is signed in, and what that is worth to pages of others.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'

import { composer, conversation, eventually, send, session, workbench } from './fixture.js'

workbench('signing out is for good, and shows nothing any more', async (daemon, openPage) => {
  await daemon.session('mine')
  const page = await openPage({ hash: session('mine') })
  await composer(page).waitFor()
  await send(page, 'echo hello')
  await conversation(page).getByText('hello').last().waitFor()
  const { sign_ins } = await daemon.call('GET', '/api/sign-ins')
  assert.match(sign_ins[0].browser, /Chrom/)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search commands' }).fill('sign out')
  await page.keyboard.press('Enter')
  await page.getByText('This browser is not signed in').waitFor()
  assert.deepEqual((await daemon.call('GET', '/api/sign-ins')).sign_ins, [])
  await eventually('the cookie is gone', async () => (await page.context().cookies()).length === 0)
})

workbench('a page on another port has the cookie sent, and gets nothing for it', async (daemon, openPage) => {
  await daemon.session('mine')
  const signedIn = await openPage({ hash: session('mine') })
  await composer(signedIn).waitFor()
  await writeFile(join(daemon.data, 'evil.js'), 'window.stolen = true')
  const file = `${daemon.url}/universal/v1/fs/file?path=${encodeURIComponent(join(daemon.data, 'evil.js'))}`
  const server = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<title>Other</title>'))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const page = await signedIn.context().newPage()
    await page.goto(`http://127.0.0.1:${server.address().port}/`)
    const statuses = []
    page.on('response', (response) => statuses.push(response.status()))
    const stolen = await page.evaluate(
      async ([file, url]) => {
        const script = document.createElement('script')
        const loaded = new Promise((resolve) => (script.onload = script.onerror = resolve))
        script.src = file
        document.head.append(script)
        await loaded
        const stop = { method: 'POST', mode: 'no-cors', credentials: 'include' }
        await fetch(`${url}/api/sessions/mine/stop`, stop).catch(() => undefined)
        await fetch(`${url}/api/sessions`, { mode: 'no-cors', credentials: 'include' }).catch(() => undefined)
        const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws`)
        await new Promise((resolve) => (socket.onopen = socket.onerror = resolve))
        return { script: 'stolen' in window, socket: socket.readyState === WebSocket.OPEN }
      },
      [file, daemon.url],
    )
    assert.deepEqual(stolen, { script: false, socket: false })
    assert.ok(statuses.every((status) => status === 403), `${statuses}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
  // And our own page goes on.
  await send(signedIn, 'echo still mine')
  await conversation(signedIn).getByText('still mine').last().waitFor()
})
