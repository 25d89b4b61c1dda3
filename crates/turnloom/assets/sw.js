// Shows what the daemon tells this browser while no page is looked at, and takes it back. It serves no files: the page always comes from the daemon.

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('push', (event) => {
  let told
  try {
    told = event.data.json()
  } catch {
    return
  }
  event.waitUntil(told.type === 'withdraw' ? withdraw(told.tag) : show(told))
})

async function withdraw(tag) {
  for (const notification of await self.registration.getNotifications({ tag })) notification.close()
}

async function show({ tag, title, body, path, needs_you }) {
  const pages = await self.clients.matchAll({ type: 'window' })
  // Who looks at the page sees it there.
  if (pages.some((page) => page.focused && page.visibilityState === 'visible')) return
  await self.registration.showNotification(title, {
    body,
    // The same thing told again takes the place of the first.
    tag,
    requireInteraction: needs_you === true,
    icon: '/icons/192.png',
    data: { path },
  })
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data?.path ?? '/#/asks'))
})

async function open(path) {
  const [page] = await self.clients.matchAll({ type: 'window' })
  if (!page) return self.clients.openWindow(path)
  page.postMessage({ open: path })
  return page.focus()
}
