// What a person has open beside and above the conversation of one session, and what has come that nobody has seen. Not here: where it is drawn.

import { untrack } from 'svelte'
import type { Component, ComponentBlock, View } from 'turnloom'
import { prefs } from '../prefs.svelte'
import { findComponent, placeOf, type Place } from './places'
import { registry } from './registry.svelte'

export type Shown = Component | ComponentBlock

const nameOf = ({ component_id, name }: Shown) => `${component_id}\n${name}`

/** Names that the page follows. */
class Marks {
  #names = $state.raw<ReadonlySet<string>>(new Set())

  has(name: string): boolean {
    return this.#names.has(name)
  }

  add(name: string): void {
    if (!untrack(() => this.has(name))) this.#names = new Set([...untrack(() => this.#names), name])
  }

  delete(name: string): void {
    this.#names = new Set([...untrack(() => this.#names)].filter((other) => other !== name))
  }
}

export class Surfaces {
  /** Whether the canvas stands beside the conversation, and which of its tabs is chosen. */
  canvas = $state(false)
  canvasTab = $state<string>()
  /** The canvas instead of the conversation. */
  whole = $state(false)
  /** On a phone: everything beside the conversation, as a sheet above it. */
  sheet = $state(false)
  sheetTab = $state<string>()
  /** Copies that a person has put on the canvas. */
  copies = $state<string[]>([])
  readonly folded = new Marks()
  /** Components whose call is shown as a row too. */
  readonly calls = new Marks()
  /** What was put away from above the conversation, with the properties it had then. */
  away = $state<Record<string, string>>({})
  readonly #seen = new Marks()
  /** What waits and was opened for that once. */
  #opened = new Set<string>()

  constructor(readonly session: string) {}

  /** The components at a place, in the order they were first shown. */
  at(view: View | undefined, place: Place): Shown[] {
    const all = view?.components ?? []
    return all.filter((one) => one.surface !== 'chat' && this.placeOf(one) === place)
  }

  placeOf(component: Pick<Shown, 'name' | 'surface'>): Place {
    return placeOf(component, registry.entry(this.session, component.name)?.surfaces)
  }

  /** What is on the canvas: what the agent put there, then copies. */
  onCanvas(view: View | undefined): Shown[] {
    const own = this.at(view, 'canvas')
    const copies = this.copies.flatMap((id) => {
      const found = own.some((one) => one.component_id === id) ? undefined : findComponent(view, id)
      return found ? [found] : []
    })
    return [...own, ...copies]
  }

  /** Everything that a phone has in one sheet. */
  beside(view: View | undefined): Shown[] {
    return [...this.at(view, 'sidebar'), ...this.at(view, 'panel'), ...this.onCanvas(view)]
  }

  /** Opens the place where it stands. */
  show(component: Shown, phone: boolean): void {
    const id = component.component_id
    const place = this.placeOf(component)
    if (place === 'overlay') delete this.away[id]
    else if (phone) [this.sheet, this.sheetTab] = [true, id]
    else if (place === 'canvas') [this.canvas, this.canvasTab] = [true, id]
    else if (place === 'panel') prefs.showPanel(`component ${id}`)
    else {
      this.folded.delete(id)
      if (prefs.panel === undefined) prefs.showPanel('plan')
    }
  }

  toggleCall(id: string): void {
    if (this.calls.has(id)) this.calls.delete(id)
    else this.calls.add(id)
  }

  copyToCanvas(id: string, phone: boolean): void {
    if (!this.copies.includes(id)) this.copies = [...this.copies, id]
    if (phone) [this.sheet, this.sheetTab] = [true, id]
    else [this.canvas, this.canvasTab] = [true, id]
  }

  takeFromCanvas(id: string): void {
    this.copies = this.copies.filter((other) => other !== id)
  }

  see(component: Shown): void {
    this.#seen.add(nameOf(component))
  }

  isNew(component: Shown): boolean {
    return !this.#seen.has(nameOf(component))
  }

  /** Says once of everything that waits that it has to be opened. */
  opensNow(component: Shown): boolean {
    const ask = component.waiting
    if (ask === undefined || this.#opened.has(ask)) return false
    this.#opened.add(ask)
    return true
  }
}
