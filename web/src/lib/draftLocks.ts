// Which drafts belong to windows that are open. A window holds its own for as long as it is there; the browser takes them back when it is closed, also
// from a window that it has put to sleep. Not here: the drafts.

/** How long a window that is being closed has to give back what it holds. */
const LEAVING_MS = 1_000
/** Where the browser has no locks, windows ask each other: how long the others have to answer. */
const ANSWER_MS = 1_000

type Release = () => void
type TabMessage = { ask: string } | { holds: string }

/** What belongs to this window from now on; nothing, if it is another window's. Release it to let others have it. */
export function hold(id: string): Promise<Release | undefined> {
  // Only pages from this machine or over HTTPS have locks.
  return 'locks' in navigator ? holdLock(id) : holdByAsking(id)
}

function holdLock(id: string): Promise<Release | undefined> {
  return new Promise((resolve) => {
    const held = () => new Promise<void>((release) => resolve(release))
    const waiting = { signal: AbortSignal.timeout(LEAVING_MS) }
    navigator.locks.request(`turnloom.draft.${id}`, waiting, held).catch(() => resolve(undefined))
  })
}

const own = new Set<string>()
const listeners = new Set<(message: TabMessage) => void>()
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('turnloom.drafts')
if (channel)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if ('ask' in data && own.has(data.ask)) channel.postMessage({ holds: data.ask })
    for (const listener of listeners) listener(data)
  }

async function holdByAsking(id: string): Promise<Release | undefined> {
  own.add(id)
  const isHeld = await new Promise<boolean>((resolve) => {
    const listener = (message: TabMessage) => void ('holds' in message && message.holds === id && resolve(true))
    listeners.add(listener)
    channel?.postMessage({ ask: id })
    setTimeout(() => {
      listeners.delete(listener)
      resolve(false)
    }, ANSWER_MS)
  })
  if (isHeld) own.delete(id)
  return isHeld ? undefined : () => void own.delete(id)
}
