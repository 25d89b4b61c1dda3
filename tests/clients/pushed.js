// The other side of Web Push: browsers with keys of their own, and a push service on loopback that takes what is meant for them. Written from the
// standards (RFC 8188, 8291, 8292), sharing nothing with the daemon.

import { createServer } from 'node:http'
import { createECDH, createHmac, createDecipheriv, createPublicKey, randomBytes, verify } from 'node:crypto'

const hmac = (key, ...data) => createHmac('sha256', key).update(Buffer.concat(data)).digest()
const hkdf = (salt, input, info, length) => hmac(hmac(salt, input), info, Buffer.from([1])).subarray(0, length)

/** Opens one message: `aes128gcm`, one record. */
export function decrypt(body, { ecdh, auth }) {
  const [salt, size, length] = [body.subarray(0, 16), body.readUInt32BE(16), body[20]]
  const sender = body.subarray(21, 21 + length)
  const record = body.subarray(21 + length)
  if (record.length > size) throw new Error('more than one record')
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender])
  const input = hkdf(auth, ecdh.computeSecret(sender), info, 32)
  const key = hkdf(salt, input, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(salt, input, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createDecipheriv('aes-128-gcm', key, nonce)
  cipher.setAuthTag(record.subarray(-16))
  const padded = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()])
  const end = padded.findLastIndex((byte) => byte !== 0)
  if (padded[end] !== 2) throw new Error('this is not the last record')
  return padded.subarray(0, end)
}

/** What the signature of a request says, if it is one of this key. */
export function signedBy(authorization, publicKey) {
  const [, token, key] = /^vapid t=([^,]+), ?k=(.+)$/.exec(authorization)
  if (key !== publicKey) throw new Error('another key')
  const raw = Buffer.from(key, 'base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: raw.subarray(1, 33).toString('base64url'), y: raw.subarray(33).toString('base64url') }
  const [header, claims, signature] = token.split('.')
  const isOurs = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  if (!isOurs) throw new Error('the signature is wrong')
  const read = (part) => JSON.parse(Buffer.from(part, 'base64url'))
  return { header: read(header), claims: read(claims) }
}

/** A browser that has subscribed. */
export class Browser {
  constructor(service, name) {
    this.service = service
    this.name = name
    this.ecdh = createECDH('prime256v1')
    this.ecdh.generateKeys()
    this.auth = randomBytes(16)
  }

  get subscription() {
    const keys = { p256dh: this.ecdh.getPublicKey().toString('base64url'), auth: this.auth.toString('base64url') }
    return { endpoint: `${this.service.url}/${this.name}`, keys }
  }

  /** What has come, decrypted. */
  get messages() {
    const mine = this.service.requests.filter(({ path, status }) => path === `/${this.name}` && status < 300)
    return mine.map(({ body, headers }) => ({ ...JSON.parse(decrypt(body, this)), headers }))
  }

  /** What a person sees: a message takes the place of one with the same tag, or takes it back. */
  get shown() {
    const shown = new Map()
    for (const { type, tag, title } of this.messages) {
      if (type === 'show') shown.set(tag, title)
      else shown.delete(tag)
    }
    return [...shown.values()].sort()
  }
}

/** A service that takes requests, and answers as it is told. */
export class Service {
  requests = []
  /** Decides the status. */
  answer = () => 201

  static async start() {
    const service = new this()
    service.server = createServer(async (request, response) => {
      const pieces = []
      for await (const piece of request) pieces.push(piece)
      const taken = { method: request.method, path: request.url, headers: request.headers, body: Buffer.concat(pieces) }
      taken.status = await service.answer(taken)
      service.requests.push(taken)
      response.writeHead(taken.status).end()
    })
    await new Promise((resolve) => service.server.listen(0, '127.0.0.1', resolve))
    service.url = `http://127.0.0.1:${service.server.address().port}`
    return service
  }

  stop() {
    this.server.closeAllConnections()
    this.server.close()
  }
}
