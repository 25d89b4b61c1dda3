// A page for components of React, in which the network is Node's.

import { Window } from 'happy-dom'

const window = new Window()
globalThis.window = window
globalThis.document = window.document
globalThis.navigator ??= window.navigator // newer versions of Node have their own
const { createRoot } = await import('react-dom/client')

/** Draws it until the test ends. */
export function render(t, element) {
  const place = document.body.appendChild(document.createElement('div'))
  const root = createRoot(place)
  root.render(element)
  t.after(() => root.unmount())
  return place
}
