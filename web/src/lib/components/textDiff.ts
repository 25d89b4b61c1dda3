// The difference between two texts, line by line, as a unified diff. For components that are given both texts and no diff.

/** Lines around a change that are shown with it. */
const CONTEXT = 3
/** Larger differences are told as everything out and everything in: comparing them would hold up the page. */
const MOST_CELLS = 2_000_000

type Mark = ' ' | '-' | '+'

export function diffOf(before: string, after: string): string {
  const [old, fresh] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let end = 0
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const lines: [Mark, string][] = [
    ...old.slice(0, start).map((line): [Mark, string] => [' ', line]),
    ...middle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)),
    ...old.slice(old.length - end).map((line): [Mark, string] => [' ', line]),
  ]
  return hunks(lines)
}

const linesOf = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function middle(old: string[], fresh: string[]): [Mark, string][] {
  const out = old.map((line): [Mark, string] => ['-', line])
  const into = fresh.map((line): [Mark, string] => ['+', line])
  if (old.length * fresh.length > MOST_CELLS) return [...out, ...into]
  // The longest common part, from the end: `same[a][b]` lines are alike from there on.
  const width = fresh.length + 1
  const same = new Uint32Array((old.length + 1) * width)
  for (let a = old.length - 1; a >= 0; a--)
    for (let b = fresh.length - 1; b >= 0; b--)
      same[a * width + b] =
        old[a] === fresh[b]
          ? (same[(a + 1) * width + b + 1] ?? 0) + 1
          : Math.max(same[(a + 1) * width + b] ?? 0, same[a * width + b + 1] ?? 0)
  const lines: [Mark, string][] = []
  let [a, b] = [0, 0]
  while (a < old.length || b < fresh.length) {
    if (a < old.length && b < fresh.length && old[a] === fresh[b]) {
      lines.push([' ', old[a] ?? ''])
      a++
      b++
    } else if (
      b >= fresh.length ||
      (a < old.length && (same[(a + 1) * width + b] ?? 0) >= (same[a * width + b + 1] ?? 0))
    )
      lines.push(['-', old[a++] ?? ''])
    else lines.push(['+', fresh[b++] ?? ''])
  }
  return lines
}

function hunks(lines: [Mark, string][]): string {
  const near = new Set<number>()
  for (const [at, [mark]] of lines.entries())
    if (mark !== ' ') for (let by = -CONTEXT; by <= CONTEXT; by++) near.add(at + by)
  const out: string[] = []
  let [before, after] = [1, 1]
  let open: { head: number; old: number; fresh: number; from: [number, number] } | undefined
  const close = () => {
    if (open) out[open.head] = `@@ -${open.from[0]},${open.old} +${open.from[1]},${open.fresh} @@`
    open = undefined
  }
  for (const [at, [mark, text]] of lines.entries()) {
    if (near.has(at)) {
      open ??= { head: out.push('') - 1, old: 0, fresh: 0, from: [before, after] }
      out.push(mark + text)
      if (mark !== '+') open.old++
      if (mark !== '-') open.fresh++
    } else close()
    if (mark !== '+') before++
    if (mark !== '-') after++
  }
  close()
  return out.join('\n')
}
