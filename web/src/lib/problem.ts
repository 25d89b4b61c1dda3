// What a person is told of something that went wrong. Not here: what went wrong; that is an error of the SDK.

import { TurnloomError, UNREACHABLE } from 'turnloom'

export interface Problem {
  detail: string
  fix?: string | undefined
}

export function problemOf(error: unknown): Problem {
  if (!(error instanceof TurnloomError)) return { detail: error instanceof Error ? error.message : String(error) }
  // The page came from the daemon, so the address is right: it can only be away.
  if (error.code === UNREACHABLE) return { detail: 'The daemon does not answer.', fix: 'turnloom up' }
  return { detail: error.message, fix: error.hint }
}
