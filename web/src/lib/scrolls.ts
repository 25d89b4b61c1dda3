// Whatever scrolls has to scroll by key too. What has room for all it holds is no stop on the way of those who go by key.

/** For `{@attach}`: the element can have the focus while it has more than it shows. */
export function scrollsByKey(element: HTMLElement): () => void {
  const look = () => {
    const { scrollHeight, clientHeight, scrollWidth, clientWidth } = element
    if (scrollHeight > clientHeight || scrollWidth > clientWidth) element.tabIndex = 0
    else element.removeAttribute('tabindex')
  }
  const observer = new ResizeObserver(look)
  for (const watched of [element, ...element.children]) observer.observe(watched)
  look()
  return () => observer.disconnect()
}
