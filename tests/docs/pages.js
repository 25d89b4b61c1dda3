// The documentation as data: every page that people read, every fenced block of it, and who runs which block.

import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What is made by a program, or is for agents. */
const NOT_PAGES = ['node_modules', 'target', 'dist', 'reference', 'roles', 'assets']

async function* markdown(folder, skipped) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.') && !skipped.includes(entry.name)) yield* markdown(path, skipped)
    else if (entry.isFile() && entry.name.endsWith('.md')) yield { page: relative(ROOT, path), text: await readFile(path, 'utf8') }
  }
}

/** Every page: its path in the repository, its text. */
export const pages = []
for await (const page of markdown(ROOT, NOT_PAGES)) pages.push(page)
/** Those that a program made; they have links too. */
export const made = []
for await (const page of markdown(join(ROOT, 'docs/reference'), [])) made.push(page)

/** Every block: where it is, its language, its lines. */
export const blocks = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/^( *)```([^\n`]*)\n([\s\S]*?)^\1```$/gm)].map(({ 1: indent, 2: language, 3: body, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    language,
    lines: body.trimEnd().split('\n').map((line) => line.slice(indent.length)),
  })),
)

const claimed = new Set()

/** A block that somebody runs. What nobody claims fails. */
export function claim(block) {
  claimed.add(block)
  return block
}

export const unclaimed = () => blocks.filter((block) => !claimed.has(block)).map(({ page, line, language }) => `${page}:${line} ${language}`)

/** The one block of a page that begins so. */
export function find(page, beginning) {
  const found = blocks.filter((block) => block.page === page && block.lines.join('\n').startsWith(beginning))
  if (found.length !== 1) throw new Error(`${found.length} blocks of ${page} begin with ${beginning}`)
  return found[0]
}

/** The commands of a console block, each with the output that the page shows. */
export function commands({ lines }) {
  const found = []
  for (const line of lines) {
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), shown: [] })
    else if (found.at(-1)?.command.endsWith('\\')) found.at(-1).command += `\n${line}`
    else found.at(-1)?.shown.push(line)
  }
  // What stands behind a `#` is for the reader.
  return found.map(({ command, shown }) => ({ command: command.replace(/\s{2,}#.*$/gm, ''), shown: shown.filter(Boolean) }))
}

/** The requests of a console block. What stands behind a body is for the reader. */
export function requests({ lines }) {
  const found = lines.map((line) => line.match(/^(GET|POST|PATCH|PUT|DELETE)\s+(\S+)\s*(.*)$/))
  return found.filter(Boolean).map(([, method, path, rest]) => ({ method, path, rest }))
}
