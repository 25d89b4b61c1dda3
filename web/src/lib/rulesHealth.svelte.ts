// What is wrong with files of rules that count in the open session. Files change without anybody telling the page, so it asks now and then.

import type { PolicyProblem } from 'turnloom'
import { api } from './api'

const EVERY_MS = 15_000

class RulesHealth {
  problems = $state.raw<PolicyProblem[]>([])

  /** Asks as long as a session is shown. Gives a function that ends it. */
  watch(session: string): () => void {
    const watching = new AbortController()
    const { signal } = watching
    const look = async () => {
      if (document.visibilityState === 'hidden') return
      try {
        this.problems = await api.getPolicyProblems({ session }, { signal })
      } catch {
        // The header says that the daemon is away; what was wrong may still be.
      }
    }
    this.problems = []
    void look()
    const timer = setInterval(() => void look(), EVERY_MS)
    window.addEventListener('focus', () => void look(), { signal })
    return () => {
      watching.abort()
      clearInterval(timer)
    }
  }
}

export const rulesHealth = new RulesHealth()
