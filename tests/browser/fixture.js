// A test of the workbench: a daemon of its own, pages that are signed in to it, and what must hold for every page.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'

import { Daemon, close, eventually, isShown, open } from './support.js'

export { PATIENCE, composer, conversation, eventually, isShown, send, showView, toTop } from './support.js'

after(close)

/** Runs a test with a daemon of its own, which may have settings, and checks what must hold for every page. */
export function workbench(name, body, config = '') {
  test(name, async () => {
    const daemon = await Daemon.start([], config)
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

/** What sticks out of the page, or can be pressed only outside of it. What stands in something that scrolls is reached by scrolling. */
const outside = (page) =>
  page.evaluate(() => {
    const wide = document.documentElement.clientWidth
    const high = document.documentElement.clientHeight
    // The room around words may stick out of a low bar.
    const room = 8
    const scrolls = (element) => element.closest('pre, .table, .terminal')
    /** Whether scrolling brings it into sight. What is fixed moves only with what scrolls inside of it. */
    const isReached = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const { overflowY, position } = getComputedStyle(at)
        const box = at.getBoundingClientRect()
        const isSeen = box.top >= -1 && box.bottom <= high + 1
        if (at !== element && /auto|scroll/.test(overflowY) && at.scrollHeight > at.clientHeight && isSeen) return true
        if (position === 'fixed') return false
      }
      return false
    }
    const found = []
    if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} px wide`)
    for (const element of document.querySelectorAll('button, a[href], input, select, textarea, h1, h2')) {
      const box = element.getBoundingClientRect()
      const style = getComputedStyle(element)
      if (box.width === 0 || style.visibility === 'hidden' || element.closest('.unseen, .skip') || scrolls(element)) continue
      const name = `${element.tagName} ${(element.getAttribute('aria-label') ?? element.textContent).trim().slice(0, 40)}`
      if (box.left < -1 || box.right > wide + 1) found.push(`${name}: ${Math.round(box.left)} to ${Math.round(box.right)} px across`)
      if ((box.top < -room || box.bottom > high + room) && !isReached(element)) found.push(`${name}: ${Math.round(box.top)} to ${Math.round(box.bottom)} px down`)
    }
    return found
  })

/** Nothing does, once what opens has opened. */
export async function allIsInside(page, where) {
  let found
  await eventually(`nothing sticks out: ${where}`, async () => (found = await outside(page)).length === 0).catch(() => assert.deepEqual(found, [], where))
}

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What stands in the way of a screen reader. The page must have been opened with `bypassCSP`. */
export async function axeFindings(page) {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(' ')).slice(0, 3).join(' | ')}`)
  })
}
