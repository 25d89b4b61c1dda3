// A list of files: what happened to each, in a word and a mark.

import { numberOf, rowsOf, textOf, wordOf, type Fields } from './read'

const MOST_FILES = 2_000
const KINDS = ['file', 'dir', 'added', 'modified', 'deleted', 'renamed'] as const

export interface FileRow {
  path: string
  kind: (typeof KINDS)[number]
  size: number | undefined
  modified: unknown
  additions: number | undefined
  deletions: number | undefined
  note: string
  blob: string | undefined
}

/** The folder is said once, above the list. */
export function filesOf(props: Fields): FileRow[] {
  const root = textOf(props['root']).replace(/\/+$/, '')
  return rowsOf(props['files'], MOST_FILES).map((file) => {
    const path = textOf(file['path'])
    const blob = textOf(file['blob']).replace(/^blob:/, '')
    return {
      path: root !== '' && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path,
      kind: wordOf(file['kind'], KINDS) ?? 'file',
      size: numberOf(file['size']),
      modified: file['modified_at'],
      additions: numberOf(file['additions']),
      deletions: numberOf(file['deletions']),
      note: textOf(file['note']),
      blob: /^[0-9a-f]{64}$/.test(blob) ? blob : undefined,
    }
  })
}

export const FILE_MARKS: Record<FileRow['kind'], { mark: string; words: string }> = {
  file: { mark: '', words: '' },
  dir: { mark: '/', words: 'folder' },
  added: { mark: 'A', words: 'added' },
  modified: { mark: 'M', words: 'modified' },
  deleted: { mark: 'D', words: 'deleted' },
  renamed: { mark: 'R', words: 'renamed' },
}
