// A test of the workbench: a daemon of its own, pages that are signed in to it, and what must hold for every page.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { Daemon, close, eventually, isShown, open } from './support.js'

export { PATIENCE, composer, conversation, eventually, isShown, send, showView, toTop } from './support.js'

after(close)

/** Runs a test with a daemon of its own, and checks what must hold for every page. */
export function workbench(name, body) {
  test(name, async () => {
    const daemon = await Daemon.start()
    const pages = []
    const openPage = async (options, through = daemon) => {
      const opened = await open(through, options)
      pages.push(opened)
      return opened.page
    }
    try {
      await body(daemon, openPage)
      for (const { wrong, elsewhere } of pages) {
        assert.deepEqual(wrong, [])
        assert.deepEqual(elsewhere, [])
      }
    } finally {
      for (const { context } of pages) await context.close()
      await daemon.end()
    }
  })
}

export const session = (id) => `#/s/${id}`

/** Goes to another session, and waits until the page is there. */
export async function visit(daemon, page, id, title = id) {
  await page.goto(`${daemon.url}/${session(id)}`)
  await isShown(page, title)
}

/** Waits until there is nothing of it in the page. */
export const none = (locator) => eventually(`there is no ${locator}`, async () => (await locator.count()) === 0)
