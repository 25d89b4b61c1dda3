// This browser as a device that the daemon tells of the inbox: the service worker, and the subscription to a push service. Loaded when somebody wants it.

import { api } from '../api'
import { prefs } from '../prefs.svelte'
import { trustedScript } from '../trusted'

/** How this browser is told: by a push service, by an open page, or not at all. */
export type Reach = 'push' | 'page' | 'denied' | 'unsupported'

/** Asks for the permission, and lets the daemon reach this browser also while no page is open. */
export async function enable(): Promise<Reach> {
  if (!('Notification' in window)) return 'unsupported'
  if ((await Notification.requestPermission()) !== 'granted') {
    prefs.setNotify(false)
    return 'denied'
  }
  prefs.setNotify(true)
  const isPushed = await subscribe()
  prefs.setPush(isPushed)
  return isPushed ? 'push' : 'page'
}

/** From here on this browser is told nothing. */
export async function disable(): Promise<void> {
  prefs.setNotify(false)
  prefs.setPush(false)
  const device = prefs.device
  const registration = await navigator.serviceWorker?.getRegistration('/')
  const subscription = await registration?.pushManager?.getSubscription()
  await subscription?.unsubscribe()
  if (device) await api.removeNotificationDevice(device).catch(() => undefined)
  prefs.setDevice(undefined)
}

/** Hears what somebody wants to see who has pressed a notification. */
function listen(): void {
  navigator.serviceWorker.onmessage = ({ data }: MessageEvent<{ open?: string }>) => {
    if (data.open?.startsWith('/#')) location.hash = data.open.slice(1)
  }
}

/** A push service may have given this browser another address since. */
export async function renew(): Promise<void> {
  if (!('Notification' in window) || Notification.permission !== 'granted') return
  const isPushed = await subscribe()
  prefs.setPush(isPushed)
}

async function subscribe(): Promise<boolean> {
  if (!('serviceWorker' in navigator) || !('PushManager' in window)) return false
  try {
    await navigator.serviceWorker.register(trustedScript('turnloom-notices', '/sw.js'), { scope: '/' })
    listen()
    const registration = await navigator.serviceWorker.ready
    const { push_key } = await api.getNotifications()
    const known = await registration.pushManager.getSubscription()
    // Only who subscribed with this daemon's key is reached by it.
    if (known && keyOf(known) !== push_key) await known.unsubscribe()
    const subscription = await registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: push_key,
    })
    const { endpoint, keys } = subscription.toJSON()
    if (!endpoint || !keys?.['p256dh'] || !keys['auth']) return false
    const push = { endpoint, keys: { p256dh: keys['p256dh'], auth: keys['auth'] } }
    const device = await api.addNotificationDevice({ name: browserName(navigator.userAgent), push })
    prefs.setDevice(device.device_id)
    return true
  } catch {
    // No push service, or it is not allowed: an open page still notifies.
    return false
  }
}

function keyOf(subscription: PushSubscription): string | undefined {
  const key = subscription.options.applicationServerKey
  if (!key) return undefined
  const text = btoa(String.fromCharCode(...new Uint8Array(key)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** What a person would call this browser. */
export function browserName(agent: string): string {
  const browser = ['Edg', 'Firefox', 'Chrome', 'Safari'].find((name) => agent.includes(`${name}/`)) ?? 'Browser'
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac', 'Linux'].find((name) => agent.includes(name))
  const name = browser === 'Edg' ? 'Edge' : browser
  return system ? `${name} on ${system}` : name
}
