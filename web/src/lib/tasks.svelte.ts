// The turns of all sessions, as the daemon tells them: what runs, what each does, and what has just ended. One stream, which comes back by itself; what
// was missed meanwhile is read. Not here: how it is shown.

import type { Task, TaskEvent, TaskProgress } from 'turnloom'
import { api } from './api'
import { bubbleOf, later, type Bubble } from './bubbles'
import { RECONNECT } from './connection'
import { problemOf } from './problem'
import { router } from './route.svelte'
import { ui } from './ui.svelte'

/** Ends that are remembered, for the panel and its numbers. */
const ENDED = 50

class Tasks {
  /** By session: each has one turn at a time. */
  #running = new Map<string, Task>()
  #bubbles = new Map<string, Bubble>()
  /** The end of what each agent said last. */
  #texts = new Map<string, string>()
  /** Counts what changes in these. */
  #changes = $state(0)
  /** What ended since this page is open, the newest first. */
  ended = $state.raw<Task[]>([])
  /** Runs whose end somebody has seen, or made. */
  #seen = $state.raw<ReadonlySet<string>>(new Set())
  /** Runs that are being cancelled from here. */
  cancelling = $state.raw<ReadonlySet<string>>(new Set())
  /** Progress that is not shown yet: it comes more often than it can be drawn. */
  #waiting = new Map<string, TaskProgress>()
  #frame = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Sessions that were told of since the list was last asked for. */
  #told = new Set<string>()
  /** What ended while nobody looked. */
  #away: Task[] = []
  running = $derived.by(() => {
    void this.#changes
    return [...this.#running.values()]
  })
  unseen = $derived(this.ended.filter(({ runId }) => !this.#seen.has(runId)))

  of(session: string | undefined): Task | undefined {
    void this.#changes
    return session === undefined ? undefined : this.#running.get(session)
  }

  bubble(session: string): Bubble | undefined {
    void this.#changes
    return this.#bubbles.get(session)
  }

  text(session: string): string {
    void this.#changes
    return this.#texts.get(session) ?? ''
  }

  start(): void {
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState !== 'visible') return
      this.#draw()
      this.#tellAway()
      void this.#reconcile()
    })
    void this.#follow()
  }

  /** Somebody has seen what ended. */
  see(): void {
    this.#seen = new Set(this.ended.map(({ runId }) => runId))
  }

  seeSession(session: string): void {
    const here = this.unseen.filter(({ sessionId }) => sessionId === session)
    if (here.length > 0) this.#seen = new Set([...this.#seen, ...here.map(({ runId }) => runId)])
  }

  /** Ends a turn; one that is dead by force. Gives what is wrong, if it was not ended. */
  async cancel(task: Task): Promise<string | undefined> {
    const { runId, sessionId } = task
    this.cancelling = new Set([...this.cancelling, runId])
    this.#seen = new Set([...this.#seen, runId])
    try {
      await api.cancelRun(runId, { session_id: sessionId, ...(task.isZombie && { force: true }) })
      return undefined
    } catch (error) {
      return problemOf(error).detail
    } finally {
      this.cancelling = new Set([...this.cancelling].filter((other) => other !== runId))
    }
  }

  async #follow(): Promise<void> {
    try {
      for await (const event of api.streamTasks({ reconnect: RECONNECT })) this.#take(event)
    } catch {
      // Without a sign-in there is nothing to follow; the page says so.
    }
  }

  #take(event: TaskEvent): void {
    switch (event.type) {
      case 'connected':
        // What was missed is told again only if it was not too much; the list says in any case what runs.
        void this.#reconcile()
        break
      case 'task:started':
        this.#put(event.data.task)
        break
      case 'task:progress':
        this.#waiting.set(event.data.sessionId, event.data)
        this.#frame ||= requestAnimationFrame(() => this.#draw())
        break
      case 'task:completed':
        this.#end(event.data.task)
        break
    }
  }

  /** Shows all progress that has come, the newest of each. */
  #draw(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    for (const [session, progress] of this.#waiting) {
      const known = this.#running.get(session)
      if (known?.runId !== progress.runId) continue
      if (progress.progressText) this.#texts.set(session, progress.progressText)
      const task = { ...known }
      // What progress does not name is over.
      for (const name of ['activity', 'waitsFor', 'toolName', 'context'] as const) delete task[name]
      this.#put(Object.assign(task, progress, { lastActivityAt: progress.timestamp }))
    }
    this.#waiting.clear()
  }

  #put(task: Task): void {
    const { sessionId } = task
    this.#told.add(sessionId)
    if (this.#running.get(sessionId)?.runId !== task.runId) this.#texts.delete(sessionId)
    this.#running.set(sessionId, task)
    this.#bubbles.set(sessionId, bubbleOf(task, this.#bubbles.get(sessionId), Date.now()))
    this.#passTime()
  }

  #end(task: Task): void {
    const { sessionId, runId } = task
    this.#told.add(sessionId)
    this.#waiting.delete(sessionId)
    if (this.#running.get(sessionId)?.runId === runId) this.#running.delete(sessionId)
    this.#changes += 1
    if (this.ended.some((other) => other.runId === runId)) return
    this.#bubbles.set(sessionId, bubbleOf(task, undefined, Date.now()))
    this.#passTime()
    this.ended = [task, ...this.ended].slice(0, ENDED)
    this.#tell(task)
  }

  /** Bubbles come, settle and go by themselves: one timer for the next of them, and none while nothing changes. */
  #passTime(): void {
    clearTimeout(this.#timer)
    this.#changes += 1
    const now = Date.now()
    let next = Infinity
    for (const [session, bubble] of this.#bubbles) {
      const known = later(bubble, now)
      if (!known) this.#bubbles.delete(session)
      else if (known !== bubble) this.#bubbles.set(session, known)
      next = Math.min(next, known?.until ?? Infinity)
    }
    if (next < Infinity) this.#timer = setTimeout(() => this.#passTime(), next - now)
  }

  /** Reads what runs, and finds out how that ended which does not run any more. */
  async #reconcile(): Promise<void> {
    this.#told = new Set()
    try {
      const listed = new Map((await api.listTasks()).map((task) => [task.sessionId, task]))
      // What was told since is newer than the list.
      for (const task of listed.values()) if (!this.#told.has(task.sessionId)) this.#put(task)
      const gone = this.running.filter((task) => !this.#told.has(task.sessionId) && !listed.has(task.sessionId))
      await Promise.all(gone.map((task) => this.#findEnd(task)))
    } catch {
      // The stream comes back by itself, and asks again.
    }
  }

  async #findEnd(task: Task): Promise<void> {
    const run = await api.getRun(task.runId, { session_id: task.sessionId })
    if (run.status === 'running') return
    const status = run.status as Task['status']
    const end = { completedAt: run.completed_at ?? '', ...(run.error && { error: run.error }) }
    this.#end({ ...task, status, ...(run.duration_ms != null && { durationMs: run.duration_ms }), ...end })
  }

  /** Says that something ended, to somebody who does not see it. */
  #tell(task: Task): void {
    if (this.#seen.has(task.runId)) return
    if (document.visibilityState === 'hidden') this.#away.push(task)
    else if (router.session === task.sessionId || ui.tasks) this.#seen = new Set([...this.#seen, task.runId])
    else this.#toast([task])
  }

  /** What is said is loaded when there is something to say. */
  #toast(ended: Task[]): void {
    if (ended.length > 0) void import('./work/toasts.svelte').then(({ toasts }) => toasts.showEnds(ended))
  }

  #tellAway(): void {
    this.#toast(this.#away.splice(0).filter(({ sessionId }) => sessionId !== router.session))
  }
}

export const tasks = new Tasks()
