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

  /** What to do about it, where that is known: mostly what to write into the daemon's `config.toml`. */
  get hint(): string | undefined {
    return typeof this.problem['fix'] === 'string' ? this.problem['fix'] : HINTS[this.code]
  }

  /** Whether the same request may be granted a little later. */
  get isTransient(): boolean {
    return this.code === UNREACHABLE || this.status >= 500 || this.status === 429 || this.status === 408
  }
}

const HINTS: Record<string, string | undefined> = {
  foreign_origin:
    'Add the address of the page to `origins` in the config.toml of the daemon, as the browser writes it, and restart the daemon.',
  foreign_host:
    'Add the name that you call the daemon by, with its port, to `hosts` in its config.toml, and restart it.',
  unauthorized:
    'The token is in the file `token` of the data directory. A page that the daemon served is signed in by `turnloom open`.',
  upgrade_required: 'A proxy on the way has to pass on the headers `Connection` and `Upgrade`.',
  [UNREACHABLE]: 'Start the daemon with `turnloom up`, or look whether the address is right.',
}

/** The daemon is there, but what it answered was kept from this page. */
export function foreignOrigin(origin: string): TurnloomError {
  const fix = `Add "${origin}" to \`origins\` in the config.toml of the daemon, and restart the daemon.`
  return new TurnloomError(0, {
    code: 'foreign_origin',
    detail: `pages of ${origin} may not call this daemon; ${fix}`,
    fix,
  })
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
