// What the tests of the golden sequences share: reading them, and bodies that say what is in them, with a pause where one is wanted.

import { readFile } from 'node:fs/promises'

/** What the mock is told, to see every kind of frame that the daemon sends. */
export const SCRIPTS = [
  'echo hello', 'markdown', 'tool', 'parallel', 'parallel permission', 'subagent permission', 'status', 'image', 'permission', 'question', 'plan', 'diff',
  'subagent', 'background', 'component', 'interrupt', 'state', 'artifact', 'compaction', 'retract', 'error', 'end', 'big 50000', 'crash', 'garbage',
]

/** The cases of one client. */
export async function cases(name) {
  const text = await readFile(new URL(`golden/${name}.jsonl`, import.meta.url), 'utf8')
  return text.trim().split('\n').map((line) => JSON.parse(line))
}

/** What was said, as JSON has it: absent and undefined are one. */
export const plain = (value) => JSON.parse(JSON.stringify(value))

/** A door that is closed until somebody opens it. */
export function gate() {
  let open
  const opened = new Promise((resolve) => (open = resolve))
  return { open, opened }
}

export const sse = (frames) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')

/** The frames of a response of the daemon. */
export async function frames(daemon, path, body) {
  const headers = { ...daemon.headers, 'content-type': 'application/json' }
  const response = await fetch(daemon.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
  const data = text.split('\n\n').filter((frame) => frame.startsWith('data: '))
  return data.map((frame) => frame.slice(6)).filter((frame) => frame !== '[DONE]').map((frame) => JSON.parse(frame))
}
