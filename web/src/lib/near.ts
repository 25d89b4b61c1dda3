// Elements that are about to become visible. One observer serves the whole page; each callback runs once.

const MARGIN = '800px 0px'

const waiting = new Map<Element, () => void>()
let observer: IntersectionObserver | undefined

function watch(): IntersectionObserver {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        const tell = waiting.get(target)
        leave(target)
        tell?.()
      }
    },
    // The margin has to hold inside of what scrolls, too; the types do not know that option yet.
    { rootMargin: MARGIN, scrollMargin: MARGIN } as IntersectionObserverInit,
  )
  return observer
}

function leave(element: Element): void {
  waiting.delete(element)
  observer?.unobserve(element)
}

/** Calls back when an element comes near to the screen. Gives a function that stops waiting. */
export function whenNear(element: Element, tell: () => void): () => void {
  waiting.set(element, tell)
  watch().observe(element)
  return () => leave(element)
}
