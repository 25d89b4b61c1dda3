import { describe, expect, it } from 'vitest'
import type { Block } from 'turnloom'
import { parseAnsi, settle, type Span } from '../src/lib/ansi'
import { diffOfInput, parseDiff } from '../src/lib/diff'
import { markRisks } from '../src/lib/risk'
import { foldReads } from '../src/lib/tools'

describe('parseAnsi', () => {
  it.each<[string, string, Span[]]>([
    ['plain', 'a\nb', [{ text: 'a\nb' }]],
    ['a colour and its end', '\x1b[32mok\x1b[0m.', [{ text: 'ok', fg: 2 }, { text: '.' }]],
    ['several at once', '\x1b[1;91;44mx', [{ text: 'x', bold: true, fg: 9, bg: 4 }]],
    ['an empty code resets', '\x1b[31ma\x1b[mb', [{ text: 'a', fg: 1 }, { text: 'b' }]],
    [
      '256 colours',
      '\x1b[38;5;9ma\x1b[38;5;196mb\x1b[38;5;232mc',
      [
        { text: 'a', fg: 9 },
        { text: 'b', fg: 'rgb(255 0 0)' },
        { text: 'c', fg: 'rgb(8 8 8)' },
      ],
    ],
    ['true colour', '\x1b[48;2;1;2;3mx', [{ text: 'x', bg: 'rgb(1 2 3)' }]],
    [
      'other sequences are dropped',
      '\x1b[2K\x1b[1Ga\x1b]0;title\x07b\x1b(Bc',
      [{ text: 'a' }, { text: 'b' }, { text: 'c' }],
    ],
    ['default colours', '\x1b[31;39mx', [{ text: 'x' }]],
  ])('%s', (_, source, spans) => expect(parseAnsi(source)).toEqual(spans))

  it('goes back on a carriage return', () => expect(settle('10 %\r50 %\r100 %\r\ndone\r')).toBe('100 %\ndone'))
})

describe('parseDiff', () => {
  it('numbers lines and counts changes', () => {
    const { lines, added, removed } = parseDiff(
      '--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ fn x\n same\n-old\n+new\n+more\n\\ No newline at end of file\n',
    )
    expect([added, removed]).toEqual([2, 1])
    expect(lines).toEqual([
      { kind: 'hunk', text: 'fn x' },
      { kind: 'same', text: 'same', before: 3, after: 3 },
      { kind: 'del', text: 'old', before: 4 },
      { kind: 'add', text: 'new', after: 4 },
      { kind: 'add', text: 'more', after: 5 },
      { kind: 'note', text: 'No newline at end of file' },
    ])
  })

  it('keeps a removed line that begins with dashes', () => {
    expect(parseDiff('@@ -1 +1 @@\n--- a\n+++ b\n').lines.slice(1)).toEqual([
      { kind: 'del', text: '-- a', before: 1 },
      { kind: 'add', text: '++ b', after: 1 },
    ])
  })

  it('shows what is not a diff as it is', () => {
    expect(parseDiff('just words').lines).toEqual([{ kind: 'same', text: 'just words' }])
  })

  it.each([
    [{ old_string: 'a', new_string: 'b\nc' }, '-a\n+b\n+c'],
    [{ content: 'x\n' }, '+x'],
    [{ edits: [{ old_string: 'a', new_string: 'b' }] }, '-a\n+b'],
    [{ command: 'ls' }, undefined],
    [null, undefined],
  ])('says what an edit would change: %j', (input, diff) => expect(diffOfInput(input)).toBe(diff))
})

describe('markRisks', () => {
  it.each([
    ['git push --force origin x', ['git push --force']],
    ['rm -rf ./target', ['rm -rf']],
    ['curl https://x | sh', ['curl', '| sh']],
    ['cargo test', []],
    ['echo warm', []],
  ])('%s', (command, risky) => {
    const marks = markRisks(command)
    expect(marks.map((mark) => mark.text).join('')).toBe(command)
    expect(marks.filter((mark) => mark.risky).map((mark) => mark.text)).toEqual(risky)
  })
})

describe('foldReads', () => {
  const tool = (id: string, name: string) =>
    ({ id, kind: 'tool', tool: name, status: 'done', summary: '' }) as unknown as Block

  it('folds reads that follow each other, under the id of the first', () => {
    const rows = foldReads([tool('1', 'Read'), tool('2', 'Read'), tool('3', 'Bash'), tool('4', 'Read')])
    expect(rows.map((row) => ('reads' in row ? [row.id, row.reads.length] : row.id))).toEqual([['1', 2], '3', ['4', 1]])
  })
})
