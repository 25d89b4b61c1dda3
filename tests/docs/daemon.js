// The daemon that the documentation talks to, and a shell as a person would have it who has installed everything.

import { spawn } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

import { Daemon } from '../support/daemon.js'
import { ROOT } from './pages.js'

export { Daemon, eventually } from '../support/daemon.js'

export const PROGRAM = process.env.TURNLOOM_PROGRAM

export const daemon = await Daemon.start()
process.once('exit', () => daemon.child.kill()) // also when a page cannot be read

/** A home with the program under its name, and the data directory where it is by default. */
export const home = join(daemon.data, 'home')
await mkdir(join(home, '.local/bin'), { recursive: true })
await mkdir(join(home, '.local/share'), { recursive: true })
await symlink(PROGRAM, join(home, '.local/bin/turnloom'))
await symlink(daemon.data, join(home, '.local/share/turnloom'))

/** Programs of Debian that are unpacked, not installed. */
const unpacked = process.env.TURNLOOM_PROGRAMS
const path = [join(home, '.local/bin'), process.env.PATH, ...(unpacked ? [`${unpacked}/usr/sbin`, `${unpacked}/usr/bin`] : [])].join(':')

export const env = { PATH: path, HOME: home, TERM: 'dumb', TURNLOOM_URL: daemon.url, TURNLOOM_DATA: daemon.data, TOKEN: daemon.token }

/** What a page says, for the daemon that is here. */
export const here = (text) => text.replaceAll('http://127.0.0.1:7171', daemon.url)

/** Runs lines in one shell. A stream that does not end by itself is left when it has said what `until` waits for. */
export function shell(script, { until, cwd = ROOT } = {}) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  return new Promise((resolve) => {
    let [out, err, left] = ['', '', false]
    const leave = () => {
      left = true
      process.kill(-child.pid)
    }
    const timer = setTimeout(leave, 60_000)
    const heard = () => until && !left && (out + err).includes(until) && leave()
    child.stdout.on('data', (data) => ((out += data), heard()))
    child.stderr.on('data', (data) => ((err += data), heard()))
    child.on('close', (code) => {
      clearTimeout(timer)
      const asked = until && left && (out + err).includes(until)
      resolve({ code: asked ? 0 : code, out, err })
    })
  })
}
