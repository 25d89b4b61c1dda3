// Every command that the documentation shows, typed.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { daemon, here, home, shell } from './daemon.js'
import { blocks, claim, commands, find, requests } from './pages.js'

/** What is not typed here, and why. A command that is neither here nor works fails. */
const ELSEWHERE = [
  [/^cargo xtask test$/, 'this is part of it'],
  [/^cargo run --release -- up$/, 'the daemon of these tests is that command, and `the README\'s commands` builds it'],
  [/^cargo bench /, '`benchmarks run`'],
  [/^npm (ci|run) /, '`the SDK` and `the examples in a browser`'],
  [/^npm install \.\/sdk\/typescript$/, 'this folder has the SDK so'],
  [/^npm install @assistant-ui/, 'this folder has these packages'],
  [/^pip install .*sdk\/python/, '`the Python SDK` builds it and installs it'],
  [/^python3 -m http.server/, '`the examples in a browser` serves that folder'],
  [/^turnloom (run --runtime|adopt|up --demo-)/, 'needs an agent: tests/agents'],
  [/^turnloom replay claude /, 'needs a recording of an agent: tests/cli'],
  [/^turnloom record last --out /, 'goes on until Ctrl-C: tests/cli'],
  [/^openapi-python-client /, 'tests/generators'],
  [/^turnloom webhook add https:/, 'nobody is there: tests/http/webhooks.rs'],
  [/^ssh /, 'needs another machine'],
  [/^(systemctl|loginctl) /, 'changes what this machine starts; the unit itself is checked'],
]

const elsewhere = (command) => ELSEWHERE.find(([known]) => known.test(command))

/** For the machine that is here, and for nobody who could answer. */
function script(command) {
  const file = (name) => join(home, name)
  const text = here(command)
    .replaceAll('cargo run --release --', 'turnloom')
    .replace(/turnloom run (?!--yes)/, 'turnloom run --yes ')
    .replace(/\b(demo|talk)\.jsonl/g, (name) => file(name))
    .replace('hello.toml --port 8080', `${file('hello.toml')} --port 0`)
    .replace('https://loom.example TURNLOOM_TOKEN=…', `${daemon.url} TURNLOOM_TOKEN=${daemon.token}`)
  if (!/record last --turn/.test(command)) return text
  // A recording of a session that is there waits for a turn.
  return `${text} 2> ${file('said')} & until grep -q Recording ${file('said')}; do sleep 0.05; done; turnloom send last "echo hello" > /dev/null; wait %1`
}

/** What a reader has by then. */
async function prepare(command) {
  if (/--script hello.toml/.test(command)) await writeFile(join(home, 'hello.toml'), find('docs/scripted-model.md', '# hello.toml').lines.join('\n'))
  if (/sessions\/mine\//.test(command)) await daemon.session('mine').catch(() => {})
}

const until = (command) => (/text\/event-stream/.test(command) ? 'event: done' : /^turnloom scripted /.test(command) ? '/_scripted/requests' : undefined)

const consoles = blocks.filter(({ language }) => language === 'console')
/** Commands and what they say, or requests and nothing else; what is neither is not claimed. */
const isUnderstood = (block) => block.lines[0].startsWith('$ ') || requests(block).length === block.lines.length
consoles.filter(isUnderstood).forEach(claim)

const shown = consoles.flatMap((block) => commands(block).map((command) => ({ ...command, page: block.page })))

describe('commands', () => {
  for (const { page, command, shown: lines } of shown.filter(({ command }) => !elsewhere(command))) {
    test(`${page}: ${command.split('\n')[0]}`, async () => {
      await prepare(command)
      const { code, out, err } = await shell(script(command), { until: until(command) })
      // `doctor` says by its code that something could be better.
      assert.ok(code === 0 || (code === 1 && /^turnloom doctor/.test(command)), `${code}: ${out}\n${err}`)
      // curl is content with an answer that says no.
      assert.ok(!/"code":"[a-z_]+","detail"|"status":4\d\d/.test(out), out)
      for (const line of lines) assert.ok(out.includes(line.trim()), `${line} is not in\n${out}`)
    })
  }
})

test('every command that is tried elsewhere is shown', () => {
  for (const [known] of ELSEWHERE) assert.ok(shown.some(({ command }) => known.test(command)), String(known))
})

test('a page that shows a stream shows how to go on with one', () => {
  assert.ok(shown.some(({ page, command }) => page === 'README.md' && command.includes('events?after=') && command.includes('text/event-stream')))
})
