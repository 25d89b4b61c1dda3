// The shared worker itself: `new SharedWorker(url of this file, { type: 'module' })`. Pages send a port for each connection they need.

import { createConnectionSharer } from './shared.js'

const join = createConnectionSharer()

globalThis.addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (!port) return
  port.onmessage = ({ ports }) => ports.forEach(join)
})
