// Unified diffs, as lines with numbers. Anything that is not one is kept as plain lines.

export interface DiffLine {
  kind: 'add' | 'del' | 'same' | 'hunk' | 'note'
  text: string
  before?: number
  after?: number
}

export interface ParsedDiff {
  lines: DiffLine[]
  added: number
  removed: number
}

export function parseDiff(source: string): ParsedDiff {
  const lines: DiffLine[] = []
  let [before, after, added, removed] = [0, 0, 0, 0]
  let inHunk = false
  const all = source.split('\n')
  if (all.at(-1) === '') all.pop()
  for (const line of all) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line)
    if (hunk) {
      before = Number(hunk[1])
      after = Number(hunk[2])
      inHunk = true
      lines.push({ kind: 'hunk', text: hunk[3] ?? '' })
    } else if (!inHunk && /^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line)) {
      continue
    } else if (/^diff --git /.test(line)) {
      inHunk = false
    } else if (line.startsWith('+')) {
      lines.push({ kind: 'add', text: line.slice(1), ...(inHunk ? { after: after++ } : {}) })
      added++
    } else if (line.startsWith('-')) {
      lines.push({ kind: 'del', text: line.slice(1), ...(inHunk ? { before: before++ } : {}) })
      removed++
    } else if (line.startsWith('\\')) {
      lines.push({ kind: 'note', text: line.slice(2) })
    } else {
      const text = line.startsWith(' ') ? line.slice(1) : line
      lines.push({ kind: 'same', text, ...(inHunk ? { before: before++, after: after++ } : {}) })
    }
  }
  return { lines, added, removed }
}

/** What an edit tool's input would change, when there is no diff from the agent. */
export function diffOfInput(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const { old_string, new_string, content, edits } = input as Record<string, unknown>
  const marked = (text: unknown, mark: string) =>
    typeof text === 'string' && text !== ''
      ? text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => mark + line)
      : []
  if (Array.isArray(edits)) return edits.map(diffOfInput).filter(Boolean).join('\n') || undefined
  if (typeof new_string === 'string') return [...marked(old_string, '-'), ...marked(new_string, '+')].join('\n')
  if (typeof content === 'string') return marked(content, '+').join('\n')
  return undefined
}
