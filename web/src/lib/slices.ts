// Work that can wait, done in slices too short to be noticed: one queue for the page. Not here: what is urgent.

/** How long the page may be held up by one slice. */
const SLICE_MS = 6
/** Work that waited so long is done even if the page is never at rest. */
const IDLE_TIMEOUT_MS = 200

type Work = Iterator<unknown>

const queue: Work[] = []
let waiting = false

/** Does some work in steps, after what waits already. Gives a function that calls the rest of it off. */
export function later(work: Work): () => void {
  queue.push(work)
  wake()
  return () => {
    const at = queue.indexOf(work)
    if (at >= 0) queue.splice(at, 1)
  }
}

function wake(): void {
  if (waiting || queue.length === 0) return
  waiting = true
  // Not every browser says when it is at rest.
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: IDLE_TIMEOUT_MS })
  else setTimeout(run, 1)
}

function run(): void {
  waiting = false
  const end = performance.now() + SLICE_MS
  while (performance.now() < end) {
    const work = queue[0]
    if (!work) return
    let over = true
    try {
      over = work.next().done === true
    } finally {
      // A piece of work that throws must not stand in the way of the others.
      if (over && queue[0] === work) queue.shift()
      if (over && queue.length > 0) wake()
    }
  }
  wake()
}
