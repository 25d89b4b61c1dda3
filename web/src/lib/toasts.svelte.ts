// Short notes about what happened elsewhere, which go away by themselves. Never about what is on the screen.

import { newId } from 'turnloom'
import { problemOf } from './problem'

const SHORT_MS = 6_000
const LONG_MS = 12_000
/** More at once are not read; what was there longest makes room. */
const MOST = 3

export interface Toast {
  id: string
  text: string
  tone: 'neutral' | 'critical' | 'success'
  /** Where it happened. */
  href?: string
  /** Takes it back. */
  undo?: () => Promise<unknown>
}

class Toasts {
  all = $state.raw<Toast[]>([])
  #timers = new Map<string, ReturnType<typeof setTimeout>>()

  show(toast: Omit<Toast, 'id'>, id: string = newId()): void {
    this.all = [...this.all.filter((other) => other.id !== id), { ...toast, id }].slice(-MOST)
    this.#leaveLater(id, toast.tone === 'critical' || toast.undo ? LONG_MS : SHORT_MS)
  }

  close(id: string): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    this.all = this.all.filter((toast) => toast.id !== id)
  }

  /** Who reads is not hurried. */
  hold(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  letGo(): void {
    for (const { id } of this.all) this.#leaveLater(id, SHORT_MS)
  }

  async undo({ id, undo }: Toast): Promise<void> {
    this.close(id)
    try {
      await undo?.()
    } catch (error) {
      this.show({ text: problemOf(error).detail, tone: 'critical' })
    }
  }

  #leaveLater(id: string, ms: number): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.set(
      id,
      setTimeout(() => this.close(id), ms),
    )
  }
}

export const toasts = new Toasts()
