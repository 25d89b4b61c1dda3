// A WebSocket of Node that can say who it is: those of browsers and of Node 20 cannot send a header. Not here: what is said on it.

import { createHash, randomBytes } from 'node:crypto'
import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Duplex } from 'node:stream'

import { TurnloomError, unreachable } from '../error.js'
import { CLOSE, encode, FrameError, FrameReader, PING, PONG, TEXT } from './frames.js'

/** The magic word of the standard. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** No answer to the handshake by then is none. */
const HANDSHAKE_MS = 10_000
/** The other side answers a goodbye by then, or the connection is cut. */
const GOODBYE_MS = 2_000
/** A refusal is read up to so many bytes. */
const REFUSAL_BYTES = 64 * 1024

export interface SocketListener {
  onText(text: string): void
  /** It is over: 1006 when nobody said goodbye. */
  onClose(code: number, reason: string): void
}

export class AgentSocket {
  readonly #stream: Duplex
  readonly #reader: FrameReader
  readonly #listener: SocketListener
  #said: { code: number; reason: string } | undefined
  #isOver = false

  /** Opens one. Rejected with a `TurnloomError`: what the daemon refused with, or `unreachable`. */
  static open(
    url: URL,
    headers: Record<string, string>,
    limit: number,
    listener: SocketListener,
    signal: AbortSignal,
  ): Promise<AgentSocket> {
    const key = randomBytes(16).toString('base64')
    const start = url.protocol === 'https:' ? requestSecure : requestPlain
    return new Promise((resolve, reject) => {
      const upgrade = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': key,
      }
      const request = start(url, { headers: { ...headers, ...upgrade }, signal, timeout: HANDSHAKE_MS })
      request.on('timeout', () => request.destroy(new Error(`silent for ${HANDSHAKE_MS} ms`)))
      request.on('error', (error) => reject(unreachable(error)))
      request.on('response', (response) => void refusalOf(response).then(reject))
      request.on('upgrade', (response: IncomingMessage, stream: Duplex, head: Buffer) => {
        const expected = createHash('sha1')
          .update(key + GUID)
          .digest('base64')
        if (response.headers['sec-websocket-accept'] !== expected) {
          stream.destroy()
          reject(new TurnloomError(101, { code: 'not_turnloom', detail: `${url.href} is not a Turnloom daemon` }))
          return
        }
        resolve(new AgentSocket(stream, head, limit, listener))
      })
      request.end()
    })
  }

  private constructor(stream: Duplex, head: Buffer, limit: number, listener: SocketListener) {
    this.#stream = stream
    this.#reader = new FrameReader(limit)
    this.#listener = listener
    if ('setNoDelay' in stream) (stream as unknown as { setNoDelay(): void }).setNoDelay()
    stream.on('data', (piece: Buffer) => this.#read(piece))
    stream.on('error', () => stream.destroy())
    stream.on('end', () => stream.destroy())
    stream.on('close', () => this.#over())
    // What came with the answer to the handshake; nobody waits for it before the caller has the socket.
    if (head.length > 0) queueMicrotask(() => this.#read(head))
  }

  /** Says one text; into the void when it is over. */
  send(text: string): void {
    if (!this.#isOver && this.#stream.writable) this.#stream.write(encode(TEXT, Buffer.from(text)))
  }

  /** Says goodbye, and cuts the connection when nobody answers. */
  close(code: number, reason = ''): void {
    if (this.#isOver || !this.#stream.writable) return
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
    payload.writeUInt16BE(code, 0)
    payload.write(reason, 2)
    this.#stream.end(encode(CLOSE, payload))
    const timer = setTimeout(() => this.#stream.destroy(), GOODBYE_MS)
    this.#stream.once('close', () => clearTimeout(timer))
  }

  /** It does not answer any more. */
  giveUp(): void {
    this.#stream.destroy()
  }

  #read(piece: Buffer): void {
    try {
      for (const { opcode, payload } of this.#reader.read(piece)) {
        if (this.#said) return
        if (opcode === TEXT) this.#listener.onText(new TextDecoder('utf-8', { fatal: true }).decode(payload))
        else if (opcode === PING && this.#stream.writable) this.#stream.write(encode(PONG, payload))
        else if (opcode === CLOSE) this.#farewell(payload)
      }
    } catch (error) {
      const code = error instanceof FrameError ? error.code : 1007
      this.#said ??= { code, reason: (error as Error).message }
      this.close(code)
    }
  }

  #farewell(payload: Buffer): void {
    this.#said =
      payload.length < 2
        ? { code: 1005, reason: '' }
        : { code: payload.readUInt16BE(0), reason: payload.subarray(2).toString('utf8') }
    if (this.#stream.writable) this.close(this.#said.code === 1005 ? 1000 : this.#said.code)
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { code, reason } = this.#said ?? { code: 1006, reason: '' }
    this.#listener.onClose(code, reason)
  }
}

/** Why the daemon did not want to talk. */
async function refusalOf(response: IncomingMessage): Promise<TurnloomError> {
  let text = ''
  try {
    for await (const piece of response.setEncoding('utf8')) {
      text += piece
      if (text.length > REFUSAL_BYTES) break
    }
    return new TurnloomError(response.statusCode ?? 0, JSON.parse(text) as TurnloomError['problem'])
  } catch {
    return new TurnloomError(response.statusCode ?? 0, {})
  }
}
