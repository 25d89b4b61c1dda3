// WebSocket frames (RFC 6455), as a client reads and writes them. Not here: the handshake and the socket.

import { randomBytes } from 'node:crypto'

export const TEXT = 1
export const CLOSE = 8
export const PING = 9
export const PONG = 10
const CONTINUATION = 0
const BINARY = 2

/** The other side does not keep to the protocol; `code` is what the connection is closed with. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** A whole message, or a control frame. */
export interface Frame {
  opcode: number
  payload: Buffer
}

/** One frame of a client: whole, and masked as the standard wants it. */
export function encode(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const wide = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const frame = Buffer.allocUnsafe(6 + wide + length)
  frame[0] = 0x80 | opcode
  frame[1] = 0x80 | (wide === 0 ? length : wide === 2 ? 126 : 127)
  if (wide === 2) frame.writeUInt16BE(length, 2)
  if (wide === 8) frame.writeBigUInt64BE(BigInt(length), 2)
  const mask = randomBytes(4)
  mask.copy(frame, 2 + wide)
  const start = 6 + wide
  for (let at = 0; at < length; at += 1) frame[start + at] = (payload[at] as number) ^ (mask[at & 3] as number)
  return frame
}

/** Makes frames of bytes, however they are cut. */
export class FrameReader {
  readonly #limit: number
  #pieces: Buffer[] = []
  #length = 0
  /** The pieces of a message that has begun. */
  #parts: Buffer[] = []
  #opcode: number | undefined
  #size = 0

  /** `limit` is how many bytes a message may have. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** What is complete now. Throws a `FrameError` when the connection cannot go on. */
  *read(piece: Buffer): Generator<Frame, void, undefined> {
    this.#pieces.push(piece)
    this.#length += piece.length
    for (;;) {
      const frame = this.#next()
      if (!frame) return
      const whole = this.#whole(frame)
      if (whole) yield whole
    }
  }

  #next(): (Frame & { last: boolean }) | undefined {
    const head = this.#peek(2)
    if (!head) return undefined
    const [first, second] = head as unknown as [number, number]
    if (first & 0x70) throw new FrameError(1002, 'a frame has an extension that was not agreed on')
    if (second & 0x80) throw new FrameError(1002, 'a frame of the server is masked')
    const short = second & 0x7f
    const wide = short < 126 ? 0 : short === 126 ? 2 : 8
    const lengths = this.#peek(2 + wide)
    if (!lengths) return undefined
    const length = wide === 0 ? short : wide === 2 ? lengths.readUInt16BE(2) : Number(lengths.readBigUInt64BE(2))
    const opcode = first & 0x0f
    const last = (first & 0x80) !== 0
    if (opcode >= CLOSE && (!last || length > 125)) throw new FrameError(1002, 'a control frame is too long')
    if (length > this.#limit || this.#size + length > this.#limit) throw new FrameError(1009, 'a message is too large')
    if (this.#length < 2 + wide + length) return undefined
    this.#take(2 + wide)
    return { opcode, last, payload: this.#take(length) }
  }

  #whole({ opcode, payload, last }: Frame & { last: boolean }): Frame | undefined {
    if (opcode >= CLOSE) return { opcode, payload }
    if (opcode > BINARY) throw new FrameError(1002, `there is no frame ${opcode}`)
    if ((opcode === CONTINUATION) === (this.#opcode === undefined))
      throw new FrameError(1002, 'a message goes on that has not begun, or begins before the last has ended')
    this.#opcode ??= opcode
    this.#parts.push(payload)
    this.#size += payload.length
    if (!last) return undefined
    const whole = { opcode: this.#opcode, payload: Buffer.concat(this.#parts) }
    this.#parts = []
    this.#opcode = undefined
    this.#size = 0
    return whole
  }

  #peek(count: number): Buffer | undefined {
    if (this.#length < count) return undefined
    if ((this.#pieces[0] as Buffer).length < count) this.#pieces = [Buffer.concat(this.#pieces)]
    return (this.#pieces[0] as Buffer).subarray(0, count)
  }

  #take(count: number): Buffer {
    if (count === 0) return Buffer.alloc(0)
    if ((this.#pieces[0] as Buffer).length < count) this.#pieces = [Buffer.concat(this.#pieces)]
    const first = this.#pieces[0] as Buffer
    const taken = first.subarray(0, count)
    if (first.length === count) this.#pieces.shift()
    else this.#pieces[0] = first.subarray(count)
    this.#length -= count
    return taken
  }
}
