// Short notes about what happened elsewhere, which go away by themselves. Never about what is on the screen.

import { newId, type Task } from 'turnloom'
import { endWords } from '../bubbles'
import { problemOf } from '../problem'
import { sessionHash } from '../route.svelte'
import { sessions } from '../sessions.svelte'
import { ui } from '../ui.svelte'

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
    ui.toasts = true
    this.all = [...this.all.filter((other) => other.id !== id), { ...toast, id }].slice(-MOST)
    this.#leaveLater(id, toast.tone === 'critical' || toast.undo ? LONG_MS : SHORT_MS)
  }

  /** Says how turns ended: each, or all together when they are many. */
  showEnds(ended: Task[]): void {
    if (ended.length >= MOST) {
      const failed = ended.filter(({ status }) => status === 'failed').length
      const text = `${ended.length} turns ended while you were away${failed > 0 ? `, ${failed} failed` : ''}`
      return this.show({ text, tone: failed > 0 ? 'critical' : 'neutral' })
    }
    for (const task of ended) {
      const { label, tone } = endWords(task)
      const title = sessions.byId(task.sessionId)?.title || task.prompt || 'A session'
      const href = sessionHash(task.sessionId)
      this.show({ text: `${title}: ${label}`, tone: tone === 'warning' ? 'neutral' : tone, href }, task.runId)
    }
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
