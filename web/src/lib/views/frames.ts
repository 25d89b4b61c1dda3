// Where frames stand. A component has one frame, wherever it is drawn: what somebody typed in it stays when it moves, and while its place is closed for a
// moment. A browser that cannot move a frame without loading it again gets a new one each time.

import type { Holder, ViewFrame } from './frame.svelte'

/** Frames that nobody sees and that are kept; the one that was seen longest ago goes first. */
const MOST_PARKED = 8

interface Kept {
  frame: ViewFrame
  /** The last one has it. */
  holders: Holder[]
}

const kept = new Map<string, Kept>()
const canMove = 'moveBefore' in Element.prototype

let lot: HTMLElement | undefined

/** Frames that nobody sees stand here. They are alive, and reached by nobody. */
function parking(): HTMLElement {
  if (lot) return lot
  lot = document.createElement('div')
  lot.inert = true
  lot.style.cssText = 'position:fixed;left:-9999px;top:0;width:400px;height:1px;overflow:hidden;visibility:hidden'
  document.body.append(lot)
  return lot
}

function put(place: HTMLElement, element: HTMLElement): void {
  const before = element.parentElement
  if (before === place) return
  if (element.isConnected && place.isConnected && canMove) {
    ;(place as HTMLElement & { moveBefore: (node: Node, before: Node | null) => void }).moveBefore(element, null)
    if (before) requestAnimationFrame(() => drawAgain(before))
  } else place.append(element)
}

/** Chromium does not draw what scrolls any more when a frame was moved out of it, until it is laid out anew. */
function drawAgain(left: HTMLElement): void {
  for (let at: HTMLElement | null = left; at; at = at.parentElement) {
    if (!/auto|scroll/.test(getComputedStyle(at).overflowY)) continue
    const { scrollTop } = at
    at.style.display = 'none'
    void at.offsetHeight
    at.style.display = ''
    at.scrollTop = scrollTop
  }
}

/** Brings the frame to a place: the one that is there, or a new one. */
export function claim(key: string, holder: Holder, make: () => ViewFrame): ViewFrame {
  const known = kept.get(key)
  const isFine = known !== undefined && !known.frame.over
  const one = isFine ? known : { frame: make(), holders: known?.holders ?? [] }
  kept.delete(key)
  kept.set(key, one)
  one.holders = [...one.holders.filter((other) => other !== holder), holder]
  one.frame.holder = holder
  put(holder.place, one.frame.element)
  return one.frame
}

/** It is not shown there any more: it goes back to where it was before, or waits. What is gone for good is forgotten. */
export function release(key: string, holder: Holder, isGone: boolean): void {
  const one = kept.get(key)
  if (!one?.holders.includes(holder)) return
  one.holders = one.holders.filter((other) => other !== holder)
  if (one.frame.holder !== holder) return
  const next = one.holders.at(-1)
  one.frame.holder = next
  if (one.frame.over || (!next && (isGone || !canMove))) forget(key)
  else {
    put(next?.place ?? parking(), one.frame.element)
    trim()
  }
}

/** Ends it; the next one who wants it gets a new one. */
export function forget(key: string): void {
  const one = kept.get(key)
  if (!one) return
  kept.delete(key)
  // It has a moment to say goodbye, where nobody sees it.
  if (!one.frame.over && one.frame.element.isConnected && canMove) put(parking(), one.frame.element)
  void one.frame.close('it is not shown any more')
}

function trim(): void {
  const parked = [...kept].filter(([, { holders }]) => holders.length === 0)
  for (const [key] of parked.slice(0, Math.max(0, parked.length - MOST_PARKED))) forget(key)
}
