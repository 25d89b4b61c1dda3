// Why something that an agent waits for does not come.

/** The turn was stopped, or is over: nothing more can be said in it. */
export class Stopped extends Error {
  override readonly name: string = 'Stopped'
}

/** An ask that nobody will answer any more. */
export class Withdrawn extends Stopped {
  override readonly name = 'Withdrawn'
}

/** The session is closed, or another instance has it. */
export class SessionGone extends Stopped {
  override readonly name = 'SessionGone'
}

/** Something that went wrong and that no caller waits for. */
export interface AgentProblem {
  /**
   * `refused`: the daemon did not take what was said. `message`: it said something that makes no sense. `handler`: a function of the agent threw.
   * `connection`: it was lost, and is tried again.
   */
  kind: 'refused' | 'message' | 'handler' | 'connection'
  message: string
  sessionId?: string
  error?: unknown
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What the daemon is told of an exception. A `code` of the error's own is kept if it is a word. */
export function failureOf(error: unknown): { message: string; code: string; retryable: boolean } {
  const code = (error as { code?: unknown } | null | undefined)?.code
  const isWord = typeof code === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(code)
  return { message: messageOf(error) || 'the agent failed', code: isWord ? code : 'agent_failed', retryable: false }
}
