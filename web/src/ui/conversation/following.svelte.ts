// Staying at the end of a conversation while it grows. Following ends only by what a person does: the wheel, a finger, a key, the scrollbar, the
// focus. The browser also scrolls by itself, when what is above gets another height, and that never counts.

/** So near to the end counts as being there, for somebody who scrolls down. */
const NEAR = 64
/** Whoever has moved up is further from the end than this. A conversation that got shorter leaves its reader at it. */
const AT_END = 2
/** So long after an act of a person a movement upwards may come from it. */
const ACT_MS = 1_000
/** So long after an act, and for so many frames, nothing is pinned, so that the movement it means can begin. A busy machine draws late. */
const GRACE_MS = 250
const GRACE_FRAMES = 3
/** So long after a change of the conversation a movement that nobody made is the browser's, and is undone. */
const CHANGE_MS = 1_000

/** So long after a press the focus is where somebody pressed, which is in sight already. */
const PRESS_MS = 1_000

const UPWARDS = new Set(['ArrowUp', 'PageUp', 'Home'])

export class Following {
  /** Whether the end is kept in sight. */
  on = $state(true)
  #scroller: HTMLElement | undefined
  #lastTop = 0
  #acted = -Infinity
  #changed = -Infinity
  #pressed = -Infinity
  #fingerAt = 0
  #grace: ReturnType<typeof setTimeout> | undefined
  /** Frames of the grace that are still to be drawn. */
  #frames = 0
  /** A button of the mouse is down: on the scrollbar, or selecting text. */
  #held = false

  get #distance(): number {
    const scroller = this.#scroller
    return scroller ? scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop : 0
  }

  /** Watches an element that scrolls, and what it holds. */
  watch(scroller: HTMLElement, content: HTMLElement): () => void {
    this.#scroller = scroller
    this.#lastTop = scroller.scrollTop
    const watching = new AbortController()
    const on = <K extends keyof HTMLElementEventMap>(
      target: HTMLElement | Window,
      type: K,
      act: (event: HTMLElementEventMap[K]) => void,
    ) => target.addEventListener(type, act as EventListener, { passive: true, signal: watching.signal })
    on(scroller, 'wheel', ({ deltaY }) => deltaY < 0 && this.#act())
    on(scroller, 'touchstart', ({ touches }) => (this.#fingerAt = touches[0]?.clientY ?? 0))
    on(scroller, 'touchmove', ({ touches }) => {
      const at = touches[0]?.clientY ?? 0
      if (at > this.#fingerAt) this.#act()
      this.#fingerAt = at
    })
    on(scroller, 'keydown', ({ key, shiftKey }) => (UPWARDS.has(key) || (key === ' ' && shiftKey)) && this.#act())
    // Going to something with the Tab key or a screen reader brings it into sight.
    on(scroller, 'focusin', ({ target }) => {
      if (target !== scroller && performance.now() - this.#pressed > PRESS_MS) this.#act()
    })
    on(scroller, 'pointerdown', () => {
      this.#held = true
      this.#pressed = performance.now()
    })
    // The end of a drag on a scrollbar is not told everywhere; that no button is down any more is.
    for (const type of ['pointerup', 'pointercancel', 'pointermove'] as const)
      on(window, type, ({ buttons }) => buttons === 0 && (this.#held = false))
    const sizes = new ResizeObserver(() => {
      // What got shorter was moved to its new end by the browser; that is not told as anybody's movement.
      if (this.on && this.#distance < AT_END) this.#lastTop = scroller.scrollTop
      this.changed()
      this.#keep()
    })
    sizes.observe(content)
    sizes.observe(scroller)
    return () => {
      watching.abort()
      clearTimeout(this.#grace)
      sizes.disconnect()
    }
  }

  /** The conversation has changed: until it has settled, the browser may scroll by itself. */
  changed(): void {
    this.#changed = performance.now()
  }

  pin(): void {
    if (!this.#scroller) return
    this.#scroller.scrollTop = this.#scroller.scrollHeight
    this.#lastTop = this.#scroller.scrollTop
  }

  /** Whoever wants the end means it, whatever they did before. */
  jump(): void {
    this.#acted = -Infinity
    this.#frames = 0
    this.on = true
    this.pin()
  }

  /** Somebody wants to see something else, wherever that is. */
  leave(): void {
    this.on = false
  }

  /** Moves to a place on behalf of the page, without meaning anything by it. */
  moveTo(top: number): void {
    if (!this.#scroller) return
    this.#scroller.scrollTop = top
    this.#lastTop = this.#scroller.scrollTop
  }

  /** To be told of every movement. */
  scrolled(): void {
    const top = this.#scroller?.scrollTop ?? 0
    const now = performance.now()
    const upwards = top < this.#lastTop - 1
    this.#lastTop = top
    const isAct = this.#held || now - this.#acted < ACT_MS
    if (upwards && isAct && this.#distance > AT_END) this.on = false
    else if (!upwards && this.#distance < NEAR) this.on = true
    else if (this.on && now - this.#changed < CHANGE_MS) this.#keep()
  }

  #act(): void {
    this.#acted = performance.now()
    if (this.#frames === 0) requestAnimationFrame(() => this.#drawn())
    this.#frames = GRACE_FRAMES
  }

  #drawn(): void {
    if (this.#frames > 1) requestAnimationFrame(() => this.#drawn())
    this.#frames = Math.max(0, this.#frames - 1)
    if (this.#frames === 0) this.#keep()
  }

  /** Stays at the end. What was pressed a moment ago may be about to lead away from it. */
  #keep(): void {
    clearTimeout(this.#grace)
    const left = this.#acted + GRACE_MS - performance.now()
    if (left > 0) this.#grace = setTimeout(() => this.#keep(), left)
    else if (this.on && this.#frames === 0) this.pin()
  }
}
