// An agent that the daemon has started: one session, JSON lines on stdin and stdout. A pipe loses nothing, so nothing is numbered.

import { StringDecoder } from 'node:string_decoder'
import type { Readable, Writable } from 'node:stream'

import type { Host } from './line.js'
import { parse, textOf, type Fields } from './messages.js'
import type { Voice } from './outbox.js'

/** Instead of those of the process. */
export interface Pipes {
  input: Readable
  output: Writable
}

/** A longer line is no message of the daemon. */
const LINE_LENGTH = 32 * 1024 * 1024

/** Ends when the daemon says `close` or closes the pipe. */
export async function runStdio(host: Host, pipes: Pipes | undefined, signal: AbortSignal): Promise<void> {
  const { input, output } = pipes ?? ownPipes()
  const voice = new PipeVoice(output)
  let session: string | undefined
  let closing: Promise<void> | undefined
  const stop = () => input.destroy()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const line of linesOf(input)) {
      const order = line === undefined ? undefined : parse(line)
      if (!order) {
        host.problem({ kind: 'message', message: 'a line of the daemon is no message' })
        continue
      }
      if (order['type'] === 'open') {
        session ??= textOf(order['session_id'])
        host.open(order, () => voice)
      } else closing = host.take({ ...order, session_id: textOf(order['session_id']) ?? session }) ?? closing
      if (closing) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  await (closing ?? host.take({ type: 'close', session_id: session, reason: 'shutdown' }))
  await voice.committed()
}

/** What a program prints would otherwise stand between the messages. */
function ownPipes(): Pipes {
  console.log = console.info = console.debug = console.error
  return { input: process.stdin, output: process.stdout }
}

async function* linesOf(input: Readable): AsyncGenerator<string | undefined, void, undefined> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let isTooLong = false
  for await (const piece of input as AsyncIterable<Buffer | string>) {
    const lines = (rest + (typeof piece === 'string' ? piece : decoder.write(piece))).split('\n')
    rest = lines.pop() as string
    for (const line of lines) {
      if (isTooLong) yield undefined
      else if (line.trim() !== '') yield line
      isTooLong = false
    }
    if (rest.length > LINE_LENGTH) isTooLong = true
    if (isTooLong) rest = ''
  }
  if (rest.trim() !== '' && !isTooLong) yield rest
}

class PipeVoice implements Voice {
  readonly #output: Writable
  #error: Error | undefined
  #drained: Promise<void> | undefined

  constructor(output: Writable) {
    this.#output = output
    output.on('error', (error) => (this.#error = error))
  }

  /** Waits when the daemon does not read. */
  async say(message: Fields): Promise<void> {
    if (this.#error) throw this.#error
    if (this.#output.write(`${JSON.stringify(message)}\n`)) return
    this.#drained ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#drained = undefined
        this.#output.off('drain', done).off('error', done).off('close', done)
        resolve()
      }
      this.#output.on('drain', done).on('error', done).on('close', done)
    })
    await this.#drained
  }

  committed(): Promise<void> {
    return this.#drained ?? Promise.resolve()
  }
}
