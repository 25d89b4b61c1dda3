// What goes wrong, as one kind of error with a word that does not change.

import type { ProblemDocument } from './types.js'

/** The code of an error when there was no answer at all. The other codes are the daemon's. */
export const UNREACHABLE = 'unreachable'

/** A request that was refused, or that did not reach the daemon. */
export class TurnloomError extends Error {
  override readonly name = 'TurnloomError'
  /** A stable word, such as `session_not_found`. */
  readonly code: string
  /** The status of the response, or 0 when there was none. */
  readonly status: number
  /** All that the daemon said about it. */
  readonly problem: Partial<ProblemDocument> & Record<string, unknown>

  constructor(status: number, problem: TurnloomError['problem'], options?: ErrorOptions) {
    super(problem.detail ?? `the daemon answered ${status}`, options)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.problem = problem
  }

  /** Whether the same request may be granted a little later. */
  get isTransient(): boolean {
    return this.code === UNREACHABLE || this.status >= 500 || this.status === 429 || this.status === 408
  }
}

export function unreachable(cause: unknown): TurnloomError {
  const detail = `the daemon does not answer (${cause instanceof Error ? cause.message : String(cause)})`
  return new TurnloomError(0, { code: UNREACHABLE, detail }, { cause })
}

/** Something else has answered: a proxy, a development server, another program at this address. */
export function notTurnloom(response: Response): TurnloomError {
  return new TurnloomError(response.status, {
    code: 'not_turnloom',
    detail: `${response.url} is not a Turnloom daemon`,
  })
}

/** The error that a refusal tells of. Something in between may have answered, with a page of its own. */
export async function refusal(response: Response): Promise<TurnloomError> {
  const problem = (await response.json().catch(() => null)) as TurnloomError['problem'] | null
  return new TurnloomError(response.status, problem ?? {})
}
