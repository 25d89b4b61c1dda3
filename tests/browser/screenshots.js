// The pictures of the documentation: `npm run screenshots`, with TURNLOOM_PROGRAM set. Looked at before they are committed.

import { Daemon, close, conversation, isShown, open, send, toTop } from './support.js'

const FOLDER = new URL('../../docs/images/', import.meta.url).pathname

const daemon = await Daemon.start()
try {
  for (const [size, viewport] of [['desktop', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844 }]]) {
    for (const colorScheme of ['light', 'dark']) {
      const name = `${size}-${colorScheme}`
      const id = `Show ${name}`.replace(' ', '-').toLowerCase()
      await daemon.session(id, { title: 'Weave the pattern', model: 'mock-1', mode: 'implement' })
      const { page, context } = await open(daemon, { hash: '#/s/try-me', viewport, colorScheme, isMobile: size === 'phone', hasTouch: size === 'phone' })
      await conversation(page).getByText('I am the mock agent').waitFor()
      await page.goto(`${daemon.url}/#/s/${id}`)
      await isShown(page, 'Weave the pattern')
      await send(page, 'demo')
      await page.getByRole('button', { name: /Allow once/ }).waitFor()
      await page.waitForTimeout(500) // a picture is taken when motion has ended
      await page.screenshot({ path: `${FOLDER}${name}.png` })
      await page.getByRole('button', { name: /Allow once/ }).click()
      await page.getByText('Which thread shall I use?').waitFor()
      await toTop(page)
      await page.waitForTimeout(500)
      await page.screenshot({ path: `${FOLDER}${name}-top.png` })
      await context.close()
      await daemon.call('DELETE', `/api/sessions/${id}?purge=true`)
    }
  }
} finally {
  await daemon.end()
  await close()
}
