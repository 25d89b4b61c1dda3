// Every file of settings that the documentation shows, read by the program that it is for.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

import { Daemon, daemon, env, eventually, home, shell } from './daemon.js'
import { blocks, claim, find } from './pages.js'

const run = promisify(execFile)

/** Runs a program and gives what it said; throws when it says that something is wrong by its code. */
async function say(program, args, more = {}) {
  const { stdout, stderr } = await run(program, args, { env: { ...env, ...more } })
  return stdout + stderr
}

async function folder(t) {
  const made = await mkdtemp(join(tmpdir(), 'turnloom-docs-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

const tables = blocks.filter(({ language }) => language === 'toml')
const scripts = tables.filter(({ page, lines }) => page === 'docs/scripted-model.md' && /^(# hello.toml|step = )/.test(lines[0]))
const policies = tables.filter(({ page }) => page === 'docs/policy.md')
const settings = tables.filter(({ page }) => !['docs/scripted-model.md', 'docs/policy.md'].includes(page))

describe('settings of the daemon', () => {
  for (const { page, line, lines } of settings.map(claim)) {
    test(`${page}:${line}`, async () => {
      const other = await Daemon.start({ config: lines.join('\n') })
      await other.stop()
    })
  }
})

describe('rules', () => {
  for (const { page, line, lines } of policies.map(claim)) {
    test(`${page}:${line}`, async (t) => {
      const data = await folder(t)
      const isMode = lines.some((text) => text.startsWith('extends'))
      if (isMode) await mkdir(join(data, 'modes'))
      await writeFile(join(data, isMode ? 'modes/mine.toml' : 'policy.toml'), lines.join('\n'))
      const mode = isMode ? 'mine' : 'implement'
      assert.match(await say('turnloom', ['--data', data, 'policy', 'explain', '--mode', mode, '--command', 'ls']), /^allow/)
    })
  }
})

describe('scripts of the model', () => {
  for (const { page, line, lines } of scripts.map(claim)) {
    test(`${page}:${line}`, async () => {
      // A page may show a part of a reply.
      const whole = lines.some((text) => text.startsWith('[[reply]]')) ? lines : ['[[reply]]', ...lines]
      const file = join(home, 'hello.toml')
      await writeFile(file, whole.join('\n'))
      const { code, err } = await shell(`turnloom scripted --script ${file}`, { until: '/_scripted/requests' })
      assert.equal(code, 0, err)
    })
  }
})

const caddy = claim(find('docs/remote-access.md', 'loom.example {'))

test('Caddy takes its file', async (t) => {
  const file = join(await folder(t), 'Caddyfile')
  await writeFile(file, `${caddy.lines.join('\n')}\n`)
  assert.match(await say('caddy', ['validate', '--config', file, '--adapter', 'caddyfile']), /Valid configuration/)
})

const unit = claim(find('docs/remote-access.md', '# ~/.config/systemd/user/turnloom.service'))

test('systemd takes the unit', async (t) => {
  const there = await say('systemd-analyze', ['--version']).catch(() => null)
  if (there === null) return t.skip('there is no systemd on this machine')
  const file = join(await folder(t), 'turnloom.service')
  await writeFile(file, unit.lines.join('\n'))
  // What it does not understand it only mentions.
  assert.equal(await say('systemd-analyze', ['verify', '--user', file], { XDG_RUNTIME_DIR: home }), '')
  assert.ok(unit.lines.includes('Delegate=yes'), 'control groups need it, see docs/operations.md')
})

const nginx = claim(find('docs/remote-access.md', 'map $http_upgrade'))

/** The server of the page, with a certificate of its own, before a daemon. */
async function serve(t, daemon) {
  let child, ended
  t.after(() => (child?.kill(), ended)) // before its folder is removed
  const place = await folder(t)
  const [key, certificate] = [join(place, 'key.pem'), join(place, 'certificate.pem')]
  await writeFile(join(place, 'openssl.cnf'), '[req]\ndistinguished_name = name\n[name]\n')
  await say('openssl', ['req', '-config', join(place, 'openssl.cnf'), '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=loom.example', '-keyout', key, '-out', certificate])
  const socket = join(place, 'https')
  const server = nginx.lines
    .join('\n')
    .replace('listen 443 ', `listen unix:${socket} `)
    .replace(/\S+fullchain.pem/, certificate)
    .replace(/\S+privkey.pem/, key)
    .replace('http://127.0.0.1:7171', daemon.url)
  await mkdir(join(place, 'temporary'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${place}/temporary/${name};`)
  // Whoever runs the tests may read the key, and nobody else has to.
  const user = process.getuid() === 0 ? 'user root;' : ''
  const whole = `daemon off; ${user} pid ${place}/pid; error_log stderr; events {} http { access_log off; ${temporary.join(' ')}\n${server}\n}`
  await writeFile(join(place, 'nginx.conf'), whole)
  const args = ['-p', place, '-e', 'stderr', '-c', join(place, 'nginx.conf')]
  const judged = await say('nginx', [...args, '-t'])
  // Newer ones would have HTTP/2 in a line that older ones do not know.
  assert.ok(!judged.split('\n').some((line) => /\[(warn|error)\]/.test(line) && !line.includes('http2')), judged)
  child = spawn('nginx', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  ended = new Promise((resolve) => child.once('exit', resolve))
  return socket
}

test('nginx takes its file, and the daemon works behind it', async (t) => {
  const [hosts] = settings.filter(({ page, lines }) => page === 'docs/remote-access.md' && lines.includes('hosts = ["loom.example"]'))
  const behind = await Daemon.start({ config: hosts.lines.join('\n') })
  t.after(() => behind.stop())
  await behind.session('s')
  const socketPath = await serve(t, behind)
  const ask = (path, headers, heard) =>
    new Promise((resolve, reject) => {
      const options = { socketPath, path, servername: 'loom.example', rejectUnauthorized: false, agent: false }
      const sent = request({ ...options, headers: { host: 'loom.example', ...behind.headers, ...headers } }, (response) => {
        let text = ''
        response.on('data', (data) => ((text += data), heard?.(text) && response.destroy()))
        response.on('close', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      })
      sent.on('upgrade', (response, socket) => (socket.destroy(), resolve({ status: response.statusCode })))
      sent.on('error', reject)
      sent.end()
    })
  const health = await eventually('it listens', () => ask('/health', {}).catch(() => null))
  assert.equal(health.status, 200)
  // A stream is passed on as it comes, and so is a WebSocket.
  await behind.call('POST', '/api/sessions/s/message', { message: 'echo hello' })
  await ask('/api/sessions/s/events', { accept: 'text/event-stream' }, (text) => text.includes('event: done'))
  const socket = await ask('/api/ws', { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' })
  assert.equal(socket.status, 101)
  // A browser that signs in through it has a cookie that goes nowhere else.
  const { path } = await behind.call('POST', '/api/login-links')
  const signedIn = await ask(path, {})
  assert.match(String(signedIn.headers['set-cookie']), /Secure/)
})
