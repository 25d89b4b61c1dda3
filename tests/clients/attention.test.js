// The inbox and the devices that are told of it, from outside: the real daemon, browsers that decrypt what they are sent, and a service like ntfy.

import assert from 'node:assert/strict'
import { createECDH } from 'node:crypto'
import { after, before, test } from 'node:test'

import { Daemon, eventually } from '../support/daemon.js'
import { Browser, Service, decrypt, signedBy } from './pushed.js'

let daemon
let service
before(async () => {
  daemon = await Daemon.start({ config: 'allow_private_targets = true\n' })
  service = await Service.start()
  await daemon.call('PATCH', '/api/notifications', { delay_seconds: 0 })
})
after(async () => {
  await daemon.stop()
  service.stop()
})

let count = 0
const fresh = (name) => `${name}-${(count += 1)}`
const inbox = (query = '') => daemon.call('GET', `/api/inbox${query}`)
const itemOf = async (session, query) => {
  const { items, snoozed } = await inbox(query)
  return [...items, ...snoozed].find((item) => item.session_id === session)
}
const devices = async () => (await daemon.call('GET', '/api/notifications')).devices

/** A browser that is told. */
async function browser(more = {}) {
  const made = new Browser(service, fresh('browser'))
  made.device = await daemon.call('POST', '/api/notifications/devices', { name: made.name, push: made.subscription, ...more })
  return made
}

async function remove(...all) {
  for (const { device } of all) await daemon.call('DELETE', `/api/notifications/devices/${device.device_id}`)
}

/** A session that asks. */
async function asks(name = 'asks') {
  const id = fresh(name)
  await daemon.session(id, { title: id })
  await daemon.call('POST', `/api/sessions/${id}/message`, { message: 'permission' })
  await eventually('it asks', () => daemon.ask(id))
  return id
}

const done = (id) => eventually('it is idle', async () => (await daemon.show(id)).turn === undefined)

test('what is decrypted here is what the standard says', () => {
  // RFC 8291, appendix A.
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94', 'base64url')
  const body =
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN'
  const auth = Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url')
  assert.equal(decrypt(Buffer.from(body, 'base64url'), { ecdh, auth }).toString(), 'When I grow up, I want to be a watermelon')
})

test('two browsers are told of an ask, once each, and it is taken back when it was answered elsewhere', async () => {
  const [one, two] = [await browser(), await browser()]
  const id = await asks()
  await eventually('both were told', () => one.messages.length === 1 && two.messages.length === 1)
  const item = await itemOf(id)
  const [{ headers, ...message }] = one.messages
  assert.deepEqual(message, {
    type: 'show',
    tag: item.item_id,
    title: `${id} needs you`,
    body: 'Run rm -rf build',
    path: `/#/s/${id}`,
    needs_you: true,
  })
  assert.equal(headers['content-encoding'], 'aes128gcm')
  assert.equal(headers['topic'], item.item_id)
  assert.equal(headers['urgency'], 'high')
  assert.ok(Number(headers['ttl']) > 0)
  const { push_key } = await daemon.call('GET', '/api/notifications')
  const { header, claims } = signedBy(headers['authorization'], push_key)
  assert.deepEqual(header, { typ: 'JWT', alg: 'ES256' })
  assert.equal(claims.aud, service.url)
  assert.ok(claims.exp > Date.now() / 1000 && claims.exp <= Date.now() / 1000 + 24 * 3600)
  assert.match(claims.sub, /^mailto:/)
  assert.equal(item.notifies, true)
  await daemon.answer(id)
  await eventually('both are quiet', () => one.shown.length === 0 && two.shown.length === 0)
  assert.deepEqual(one.messages.map(({ type, tag }) => [type, tag]), [['show', item.item_id], ['withdraw', item.item_id]])
  await done(id)
  await remove(one, two)
})

test('what was seen on one device is not told on others, and what was told is taken back', async () => {
  await daemon.call('PATCH', '/api/notifications', { delay_seconds: 3600 })
  const one = await browser()
  const seen = await asks('seen')
  const open = await asks('open')
  await daemon.call('POST', `/api/inbox/${(await itemOf(seen)).item_id}/read`)
  assert.equal((await itemOf(seen)).read, true, 'it waits all the same')
  await daemon.call('PATCH', '/api/notifications', { delay_seconds: 0 })
  await eventually('it was told of the other', () => one.shown.join() === `${open} needs you`)
  const marked = await daemon.call('POST', '/api/inbox/read', { session_id: open })
  assert.deepEqual(marked, { marked: 1 })
  await eventually('it was taken back', () => one.shown.length === 0)
  assert.ok(!one.messages.some(({ title }) => title === `${seen} needs you`))
  for (const id of [seen, open]) {
    await daemon.answer(id)
    await done(id)
  }
  await remove(one)
})

test('a daemon that was killed tells nothing twice, and what ended meanwhile is taken back', async () => {
  const one = await browser()
  const id = await asks()
  await eventually('it was told', () => one.shown.length === 1)
  const [{ tag }] = one.messages
  const before = await devices()
  await eventually('it is written down that it was told', async () => {
    // The next thing that is told stands behind it.
    return one.messages.length === 1
  })
  const marker = await asks('marker')
  await eventually('the next one too', () => one.messages.length === 2)
  await daemon.call('POST', `/api/inbox/${(await itemOf(marker)).item_id}/read`)
  await eventually('and taken back', () => one.messages.length === 3)
  await daemon.kill()
  await daemon.again()
  assert.deepEqual(await devices(), before)
  // The asks are lost: that is another thing, and the first is taken back.
  await eventually('it could not wait', () => one.shown.includes(`${id} could not wait for you`))
  await eventually('both are settled', () => one.shown.length === 2)
  assert.equal(one.messages.filter((message) => message.type === 'show' && message.tag === tag).length, 1)
  assert.equal(one.messages.filter((message) => message.type === 'withdraw' && message.tag === tag).length, 1)
  for (const session of [id, marker]) {
    const item = await itemOf(session)
    assert.equal(item.kind, 'lost_ask')
    await daemon.call('POST', `/api/inbox/${item.item_id}/read`)
    assert.equal((await itemOf(session)).read, true, 'it needs somebody all the same')
  }
  await eventually('it is quiet', () => one.shown.length === 0)
  await daemon.kill()
  await daemon.again()
  assert.equal((await itemOf(id)).read, true, 'a read mark outlives the daemon')
  for (const session of [id, marker]) await daemon.call('DELETE', `/api/sessions/${session}?purge=true`)
  await remove(one)
})

test('a daemon that is killed while it tells, tells again under the same name', async () => {
  const one = await browser({ done: 'all' })
  const id = fresh('finishes')
  await daemon.session(id, { title: id })
  let killed
  service.answer = () => {
    killed ??= daemon.kill()
    return 201
  }
  // It may be gone before it answers.
  await daemon.call('POST', `/api/sessions/${id}/message`, { message: 'echo hello' }).catch(() => undefined)
  await eventually('it was killed', () => killed !== undefined)
  await killed
  service.answer = () => 201
  await daemon.again()
  await eventually('it was told again', () => one.messages.length >= 2)
  const item = await itemOf(id)
  assert.equal(item.kind, 'finished')
  assert.ok(one.messages.every((message) => message.tag === item.item_id && message.headers.topic === item.item_id))
  assert.deepEqual(one.shown, [`${id} is done`], 'a person sees it once')
  await daemon.call('POST', '/api/inbox/read', {})
  await eventually('it is quiet', () => one.shown.length === 0)
  await remove(one)
})

test('a browser that is gone is forgotten, and one whose service fails is tried again', async () => {
  const [gone, away, shaky] = [await browser(), await browser(), await browser()]
  let failures = 2
  service.answer = ({ path }) => {
    if (path === `/${gone.name}`) return 410
    if (path === `/${away.name}`) return 404
    if (path === `/${shaky.name}` && failures > 0) return (failures -= 1), 503
    return 201
  }
  const id = await asks()
  await eventually('it was told in the end', () => shaky.shown.length === 1)
  await eventually('the others are forgotten', async () => (await devices()).length === 1)
  assert.equal(failures, 0)
  service.answer = () => 201
  await daemon.answer(id)
  await eventually('it is quiet', () => shaky.shown.length === 0)
  await done(id)
  await remove(shaky)
})

test('what is snoozed is out of the way, on all devices and after a restart, and comes back', async () => {
  const one = await browser()
  const id = await asks()
  await eventually('it was told', () => one.shown.length === 1)
  const { item_id } = await itemOf(id)
  await daemon.call('POST', `/api/inbox/${item_id}/snooze`, { minutes: 60 })
  await eventually('it was taken back', () => one.shown.length === 0)
  const { items, snoozed, needs } = await inbox()
  assert.deepEqual([items.some((item) => item.item_id === item_id), snoozed[0].item_id, needs], [false, item_id, 0])
  await daemon.call('POST', `/api/inbox/${item_id}/snooze`, { until: new Date(Date.now() + 1500).toISOString() })
  await eventually('it is back', async () => (await inbox()).needs === 1)
  await eventually('it was told again', () => one.shown.length === 1)
  assert.deepEqual(one.messages.map((message) => message.type), ['show', 'withdraw', 'show'])
  await daemon.answer(id)
  await eventually('it is quiet', () => one.shown.length === 0)
  await done(id)
  await remove(one)
})

test('turns that ended are told by choice, and nothing is told in quiet hours', async () => {
  const [all, failed, none] = [await browser({ done: 'all' }), await browser({ done: 'failed' }), await browser({ done: 'none' })]
  const quiet = { from: '00:00', to: '00:00', zone: 'Europe/Berlin' }
  await daemon.call('PATCH', '/api/notifications', { quiet })
  const ids = { good: fresh('good'), bad: fresh('bad') }
  await daemon.session(ids.good, { title: ids.good })
  await daemon.session(ids.bad, { title: ids.bad })
  await daemon.call('POST', `/api/sessions/${ids.good}/message`, { message: 'echo hello' })
  await daemon.call('POST', `/api/sessions/${ids.bad}/message`, { message: 'error' })
  await eventually('both have ended', async () => (await itemOf(ids.good)) && (await itemOf(ids.bad)))
  const { items, unread } = await inbox()
  const news = items.filter((item) => Object.values(ids).includes(item.session_id))
  assert.deepEqual(news.map((item) => [item.kind, item.notifies]), [['failed', false], ['finished', false]])
  assert.ok(unread >= 2)
  assert.equal([all, failed, none].flatMap((one) => one.messages).length, 0)
  await daemon.call('PATCH', '/api/notifications', { quiet: null })
  await eventually('all was told', () => all.shown.length === 2)
  await eventually('what failed was told', () => failed.shown.join() === `${ids.bad} failed`)
  assert.deepEqual(all.shown, [`${ids.bad} failed`, `${ids.good} is done`])
  await daemon.call('POST', '/api/inbox/read', {})
  await eventually('it is quiet', () => all.shown.length === 0 && failed.shown.length === 0)
  assert.equal(none.messages.length, 0)
  await remove(all, failed, none)
})

test('a service like ntfy shows it, and takes it back', async () => {
  const ntfy = await Service.start()
  ntfy.answer = () => 200
  await daemon.call('PATCH', '/api/notifications', { page_url: 'https://loom.example/' })
  const added = { name: 'Phone', service: { url: `${ntfy.url}/builds` }, token: { value: 'tk_secret' } }
  const device = await daemon.call('POST', '/api/notifications/devices', added)
  assert.deepEqual({ ...device, device_id: '', created_at: '' }, { device_id: '', name: 'Phone', kind: 'ntfy', host: '127.0.0.1', created_at: '' })
  const tried = await daemon.call('POST', `/api/notifications/devices/${device.device_id}/test`)
  assert.equal(tried.delivered, true)
  const id = await asks()
  await eventually('it was told', () => ntfy.requests.length === 2)
  const { method, path, headers, body } = ntfy.requests[1]
  assert.deepEqual([method, path, headers.authorization], ['POST', '/', 'Bearer tk_secret'])
  const { item_id } = await itemOf(id)
  assert.deepEqual(JSON.parse(body), {
    topic: 'builds',
    title: `${id} needs you`,
    message: 'Run rm -rf build',
    priority: 4,
    tags: ['raised_hand'],
    sequence_id: item_id,
    click: `https://loom.example/#/s/${id}`,
  })
  await daemon.answer(id)
  await eventually('it was taken back', () => ntfy.requests.length === 3)
  assert.deepEqual([ntfy.requests[2].method, ntfy.requests[2].path], ['DELETE', `/builds/${item_id}`])
  await done(id)
  await remove({ device })
  ntfy.stop()
})

test('what could never be reached is refused', async () => {
  const add = async (device) => {
    const response = await fetch(`${daemon.url}/api/notifications/devices`, {
      method: 'POST',
      headers: { ...daemon.headers, 'content-type': 'application/json' },
      body: JSON.stringify(device),
    })
    return [response.status, (await response.json()).code]
  }
  const { subscription } = new Browser(service, 'never')
  const bad = { ...subscription, keys: { ...subscription.keys, p256dh: 'AAAA' } }
  for (const device of [{}, { push: bad }, { push: { ...subscription, endpoint: 'ftp://x/y' } }, { service: { url: `${service.url}/` } }])
    assert.deepEqual(await add(device), [400, 'invalid_request'], JSON.stringify(device))
  for (const [change, words] of [
    [{ quiet: { from: '25:00', to: '07:00', zone: 'UTC' } }, /time of day/],
    [{ quiet: { from: '22:00', to: '07:00', zone: 'Mars/Base' } }, /time zone/],
    [{ delay_seconds: 1e6 }, /delay_seconds/],
    [{ loud: true }, /loud/],
  ])
    await assert.rejects(daemon.call('PATCH', '/api/notifications', change), words)
  await assert.rejects(daemon.call('POST', '/api/inbox/in_none/read'), /inbox_item_not_found/)
  const strict = await Daemon.start()
  await assert.rejects(strict.call('POST', '/api/notifications/devices', { push: subscription }), /private_target/)
  await strict.stop()
})

test('the inbox is followed: each change at once, in the order of what blocks most', async () => {
  const leave = new AbortController()
  const headers = { ...daemon.headers, accept: 'text/event-stream' }
  const response = await fetch(`${daemon.url}/api/inbox`, { headers, signal: leave.signal })
  const frames = []
  const reading = (async () => {
    let rest = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + piece).split('\n\n')
      rest = parts.pop()
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)
        if (part.includes('event: inbox') && data) frames.push(JSON.parse(data[1]))
      }
    }
  })().catch(() => undefined)
  const old = await asks('old')
  const heavy = await asks('heavy')
  for (let n = 0; n < 50; n++) await daemon.call('POST', `/api/sessions/${heavy}/message`, { message: 'echo later' })
  const order = () => frames.at(-1)?.items.filter((item) => item.needs_you).map((item) => item.session_id)
  await eventually('what blocks more overtakes what waits longer', () => order()?.join() === `${heavy},${old}`)
  await eventually('all behind it are counted', () => frames.at(-1).items[0].blocks === 51)
  await daemon.call('DELETE', `/api/sessions/${heavy}?purge=true`)
  await eventually('what is gone is gone', () => order()?.join() === old)
  await daemon.answer(old)
  await eventually('nothing waits', () => frames.at(-1).needs === 0)
  leave.abort()
  await reading
})
