// Keeps a chat of the AI SDK current with what others do in its session.
//
// `useChat` holds no connection between two turns, so it hears neither what is said nor what is answered elsewhere. This listens to the daemon's own
// events for it: when there is news, it loads the messages again and follows the turn that runs. It needs no package, and works with versions 5, 6 and 7.

/** A connection that says nothing for so long is dead, whatever the socket says. The daemon says something every 15 s. */
const SILENCE = 38_000
/** A page that nobody looks at for so long gives its connection back: a browser allows few of them. */
const HIDDEN = 30_000

const NEWS = 'turn_started,permission_resolved,question_resolved,interrupt_resolved,done,rollback'

/**
 * Follows until the function that it returns is called.
 *
 * @param chat gives the hook's current value: `() => ref.current`
 * @param query what the chat's own transport puts behind its address, such as `?v=5`
 */
export function follow({ url, session, headers, chat, query = '' }) {
  const ended = new AbortController()
  void keepCurrent({ url, session, headers, chat, query, signal: ended.signal })
  return () => ended.abort()
}

async function keepCurrent({ url, session, headers, chat, query, signal }) {
  const name = encodeURIComponent(session)
  const load = async () => {
    const response = await fetch(`${url}/ai-sdk/chat/${name}/messages${query}`, { headers, signal })
    return response.ok ? response.json() : undefined
  }
  const catchUp = async (event) => {
    for (;;) {
      // What this page does itself it hears from its own response.
      while (isBusy(chat()) && !signal.aborted) await pause(50)
      if (signal.aborted || isKnown(event, chat())) return
      const before = chat().messages
      const messages = await load()
      if (messages === undefined) return
      // What this page said meanwhile is not in what was loaded.
      if (isBusy(chat()) || chat().messages !== before) continue
      chat().setMessages(messages)
      return chat().resumeStream()
    }
  }
  let after
  while (!signal.aborted) {
    try {
      // A session that is not there yet is waited for: it begins with the first message.
      after ??= await head(`${url}/api/sessions/${name}`, { headers, signal })
      if (after !== undefined) {
        const address = `${url}/api/sessions/${name}/events?types=${NEWS}&after=${after}`
        await attended(signal)
        for await (const event of events(address, { headers, signal })) {
          after = event.seq
          await catchUp(event)
        }
      }
    } catch {
      // The connection broke; the next one goes on where this one ended.
    }
    await pause(1000)
  }
}

const isBusy = ({ status }) => status === 'submitted' || status === 'streaming'

/** Whether a page knows of something: it said or answered it itself, or has heard of it. A turn is the message with the same id. */
function isKnown({ type, seq, turn_id, data }, { messages, status }) {
  const message = messages.findLast(({ id }) => id === turn_id)
  const hasAll = (message?.metadata?.cursor ?? 0) >= seq
  if (type === 'rollback') return false
  if (type === 'turn_started') return message !== undefined || messages.some(({ id }) => data.message_ids.includes(id))
  // A turn that failed is shown as an error, and ends without a cursor.
  if (type === 'done') return hasAll || status === 'error'
  return message !== undefined && (hasAll || !message.parts.some(isWaiting))
}

/** A tool of the agent runs by itself; the others wait for somebody. */
const isWaiting = ({ state, providerExecuted }) =>
  state === 'approval-requested' || (state === 'input-available' && !providerExecuted)

async function head(address, options) {
  const response = await fetch(address, options)
  return response.ok ? (await response.json()).head : undefined
}

/** The events of a stream, as they come, for as long as it is alive and somebody looks. */
async function* events(address, { headers, signal }) {
  const connection = new AbortController()
  const end = () => connection.abort()
  signal.addEventListener('abort', end)
  const unwatch = onHidden(end)
  let watchdog = setTimeout(end, SILENCE)
  try {
    const response = await fetch(address, {
      headers: { ...headers, accept: 'text/event-stream' },
      signal: connection.signal,
    })
    if (!response.ok) throw new Error(`${response.status} ${address}`)
    let rest = ''
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(watchdog)
      watchdog = setTimeout(end, SILENCE)
      const frames = (rest + value).split('\n\n')
      rest = frames.pop()
      for (const frame of frames) {
        const data = frame.split('\n').find((line) => line.startsWith('data: '))
        if (data && frame.startsWith('id:')) yield JSON.parse(data.slice(6))
      }
    }
  } finally {
    clearTimeout(watchdog)
    unwatch()
    signal.removeEventListener('abort', end)
    end()
  }
}

/** Calls back when nobody has looked at the page for a while. */
function onHidden(tell) {
  let timer
  const look = () => {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(tell, HIDDEN)
  }
  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

/** Resolves when somebody looks at the page, or when it is over. */
function attended(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      signal.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look)
    look()
  })
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
