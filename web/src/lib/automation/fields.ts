// Which field of a form an error is about. The daemon's errors begin with the name of what is wrong: `when.expression`: ...

import { TurnloomError } from 'turnloom'
import { problemOf, type Problem } from '../problem'

/** What is wrong, by field; what belongs to none stands under ''. */
export type Wrong = Record<string, Problem>

/** Errors that name no field, by their code. */
const BY_CODE: Record<string, string> = {
  private_target: 'url',
  channel_exists: 'name',
  schedule_exists: 'schedule_id',
  channel_needs_secret: 'secret',
  unknown_runtime: 'runtime',
  session_not_found: 'session',
}

/**
 * `aliases` lead from what the daemon names to the field that is shown: the longest beginning counts. Where it names no field but repeats what was typed, that is
 * looked for in `typed`.
 */
export function wrongOf(
  error: unknown,
  fields: readonly string[],
  aliases: Record<string, string> = {},
  typed: Record<string, string> = {},
): Wrong {
  const problem = problemOf(error)
  const code = error instanceof TurnloomError ? error.code : ''
  const named = /^`([\w.]+)`/.exec(problem.detail)?.[1] ?? BY_CODE[code] ?? ''
  const field = within(named, fields, aliases) || repeated(problem.detail, typed)
  // Beside the field its name need not be said.
  const detail = field ? problem.detail.replace(/^`[\w.]+`:?\s*/, '') : problem.detail
  return { [field]: { ...problem, detail: detail.charAt(0).toUpperCase() + detail.slice(1) } }
}

/** The field whose text an error repeats. */
function repeated(detail: string, typed: Record<string, string>): string {
  const said = [...detail.matchAll(/`([^`]{3,})`/g)].map(([, text]) => text ?? '')
  return Object.keys(typed).find((field) => said.some((text) => typed[field]?.includes(text))) ?? ''
}

function within(named: string, fields: readonly string[], aliases: Record<string, string>): string {
  for (let name = named; name; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
    const found = aliases[name] ?? name
    if (fields.includes(found)) return found
  }
  return ''
}
