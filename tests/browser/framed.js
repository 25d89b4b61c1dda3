// A view that tries everything a view must not do, and a page around it that hears what came of it.

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><rect width="7" height="7"/></svg>`

/** The files of the component. */
export const VIEW = {
  'component.json': JSON.stringify({ title: 'Probe', callbacks: [{ name: 'turn' }] }),
  'index.html': `<!doctype html><link rel="stylesheet" href="style.css"><p id="p">probe</p><img id="i" src="dot.svg">
    <script src="classic.js"></script><script type="module" src="module.js"></script>`,
  'style.css': 'p { color: rgb(1, 2, 3) }',
  'dot.svg': PICTURE,
  'classic.js': 'window.classic = true',
  'other.js': 'export const loaded = true',
  'module.js': `
    import { loaded } from './other.js'
    const attempt = async (work) => {
      try {
        const value = await work()
        return value === undefined || value === null || value === false ? 'refused' : 'done'
      } catch {
        return 'refused'
      }
    }
    const picture = document.getElementById('i')
    if (!picture.complete) await new Promise((resolve) => (picture.onload = picture.onerror = resolve))
    const tried = {
      origin: String(window.origin),
      classic: window.classic === true,
      module: loaded,
      style: getComputedStyle(document.getElementById('p')).color,
      picture: picture.naturalWidth === 7,
      parent: await attempt(() => parent.document.title),
      cookie: await attempt(() => document.cookie || null),
      storage: await attempt(() => localStorage.setItem('a', '1') ?? true),
      popup: await attempt(() => window.open('about:blank')),
      evaluated: await attempt(() => eval('1')),
      api: await attempt(() => fetch('/api/sessions')),
      own: await attempt(() => fetch('style.css')),
      elsewhere: await attempt(() => fetch('https://elsewhere.example/')),
    }
    try { top.location = 'about:blank' } catch {}
    parent.postMessage({ tried }, '*')
  `,
}

/** Shows a view in a page and gives what it tried. Without the attribute, the policy of the view itself keeps it apart. */
export function framed(page, url, sandbox) {
  return page.evaluate(
    ([url, sandbox]) =>
      new Promise((resolve) => {
        const frame = document.createElement('iframe')
        if (sandbox) frame.setAttribute('sandbox', sandbox)
        frame.setAttribute('referrerpolicy', 'no-referrer')
        const hear = ({ source, data }) => {
          if (source !== frame.contentWindow || !data?.tried) return
          removeEventListener('message', hear)
          frame.remove()
          resolve(data.tried)
        }
        addEventListener('message', hear)
        frame.src = url
        document.body.append(frame)
      }),
    [url, sandbox],
  )
}
