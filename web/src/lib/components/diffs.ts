// The files of a diff that a component shows, and lines side by side.

import type { DiffLine } from '../diff'
import { rowsOf, textOf, wordOf, type Fields } from './read'
import { diffOf } from './textDiff'

const MOST_FILES = 100
const KINDS = ['added', 'modified', 'deleted', 'renamed'] as const

export interface FileDiff {
  path: string
  from: string
  kind: (typeof KINDS)[number]
  diff: string
}

/** One file that is told by itself, or several; a diff, or the text before and after. */
export function diffsOf(props: Fields): FileDiff[] {
  const files = rowsOf(props['files'], MOST_FILES)
  const alone = textOf(props['diff']) === '' ? [] : [{ path: props['path'], diff: props['diff'] }]
  return [...files, ...alone].map((file: Fields) => ({
    path: textOf(file['path']) || 'Changes',
    from: textOf(file['old_path']),
    kind: wordOf(file['kind'], KINDS) ?? 'modified',
    diff: textOf(file['diff']) || diffOf(textOf(file['old_text']), textOf(file['new_text'])),
  }))
}

export interface Pair {
  left: DiffLine | undefined
  right: DiffLine | undefined
  /** A line over both sides. */
  across: DiffLine | undefined
}

/** Lines that went out beside those that came in. */
export function sideBySide(lines: DiffLine[]): Pair[] {
  const pairs: Pair[] = []
  let [out, into]: DiffLine[][] = [[], []]
  const flush = () => {
    for (let at = 0; at < Math.max(out?.length ?? 0, into?.length ?? 0); at++)
      pairs.push({ left: out?.[at], right: into?.[at], across: undefined })
    ;[out, into] = [[], []]
  }
  for (const line of lines) {
    if (line.kind === 'del') out?.push(line)
    else if (line.kind === 'add') into?.push(line)
    else {
      flush()
      pairs.push(
        line.kind === 'same'
          ? { left: line, right: line, across: undefined }
          : { left: undefined, right: undefined, across: line },
      )
    }
  }
  flush()
  return pairs
}
