// What the documentation names in passing: commands, routes, other pages.

import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

import { daemon, shell } from './daemon.js'
import { made, pages, ROOT } from './pages.js'

/** The words of a page, without its blocks. */
const words = pages.map(({ page, text }) => ({ page, text: text.replace(/^( *)```[\s\S]*?^\1```$/gm, '') }))

const inline = words.flatMap(({ page, text }) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => ({ page, code })))

/** What the program starts itself as. */
const ROLES = ['guard', 'mock-agent']

test('commands that are named are there, with their options', async () => {
  const { out } = await shell('turnloom --help')
  const known = [...out.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name)
  assert.ok(known.length > 15, out)
  const help = new Map()
  for (const name of known) {
    const own = (await shell(`turnloom ${name} --help`)).out
    const [, list = ''] = own.split(/^Commands:$/m)
    const below = [...list.split('\n\n')[0].matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, sub]) => sub).filter((sub) => sub !== 'help')
    const all = await Promise.all(below.map((sub) => shell(`turnloom ${name} ${sub} --help`)))
    help.set(name, [own, ...all.map(({ out }) => out)].join('\n'))
  }
  const named = inline.map(({ page, code }) => ({ page, code, words: code.split(/\s+/) }))
  for (const { page, code, words } of named) {
    // Options that all commands have may stand first.
    const rest = words.slice(1)
    while (rest[0]?.startsWith('--') && rest[0] !== '--help') rest.splice(0, 2)
    const isOurs = words[0] === 'turnloom' && rest.length > 0 && /^[a-z]/.test(rest[0])
    const isShort = known.includes(words[0]) && words[1]?.startsWith('--')
    if (!isOurs && !isShort) continue
    const name = isOurs ? rest[0] : words[0]
    if (ROLES.includes(name)) continue
    assert.ok(help.has(name), `${page}: ${code}`)
    for (const option of words.filter((word) => /^--[a-z]/.test(word))) {
      assert.ok(help.get(name).includes(option.split('=')[0]), `${page}: ${code} has no ${option}`)
    }
  }
})

/** The scripted model has routes of its own. */
const OTHER_SERVERS = ['docs/scripted-model.md']

test('routes that are named are there', async () => {
  const { paths } = await (await fetch(`${daemon.url}/api/openapi.json`)).json()
  const known = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), parts: path.slice(1).split('/') })))
  const isName = (part) => part.startsWith('{')
  const matches = (ours, theirs) => isName(theirs) || ours === theirs
  const routes = inline.filter(({ page }) => !OTHER_SERVERS.includes(page)).map(({ page, code }) => ({ page, code, match: code.match(/^(GET|POST|PATCH|PUT|DELETE) (?:\.\.\.)?(\/[^\s?]*)/) }))
  const named = routes.filter(({ match }) => match)
  assert.ok(named.length > 30)
  for (const { page, code, match: [, method, path] } of named) {
    const parts = path.slice(1).split('/')
    const isEnd = code.includes(' .../')
    const found = known.some((route) => {
      const theirs = isEnd ? route.parts.slice(-parts.length) : route.parts
      return route.method === method && theirs.length === parts.length && theirs.every((part, at) => matches(parts[at], part))
    })
    assert.ok(found, `${page}: ${code}`)
  }
})

/** As GitHub names a heading. */
const anchor = (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replaceAll(' ', '-')
const anchors = (text) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchor(heading))

test('links between the pages lead somewhere', async () => {
  const all = new Map([...pages, ...made].map(({ page, text }) => [page, text]))
  let links = 0
  for (const [page, text] of all) {
    for (const [, target, place] of text.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)) {
      links += 1
      const path = target === '' ? page : join(dirname(page), target)
      await access(join(ROOT, path)).catch(() => assert.fail(`${page}: ${target}`))
      if (place && all.has(path)) assert.ok(anchors(all.get(path)).includes(place), `${page}: ${target}#${place}`)
    }
  }
  assert.ok(links > 50)
})

test('files that are named are there', async () => {
  for (const { page, code } of inline) {
    if (!/^(docs|examples|crates|tests|sdk|web|xtask)\/[\w./-]+\.[a-z]+$/.test(code)) continue
    await access(join(ROOT, code)).catch(() => assert.fail(`${page}: ${code}`))
  }
})
