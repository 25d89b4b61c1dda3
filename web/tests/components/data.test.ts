import { describe, expect, it } from 'vitest'
import { actionsOf } from '../../src/lib/components/common'
import { diffsOf, sideBySide } from '../../src/lib/components/diffs'
import { filesOf } from '../../src/lib/components/files'
import { linkOf, pictureOf } from '../../src/lib/components/links'
import { mapOf } from '../../src/lib/components/map'
import { dateWords, decimal, short, valueWords } from '../../src/lib/components/numbers'
import { spanOf } from '../../src/lib/components/rows'
import { misfit } from '../../src/lib/components/schema'
import { cellOf, columnsOf, nextSorting, rowsOf, sorted } from '../../src/lib/components/table'
import { diffOf } from '../../src/lib/components/textDiff'
import { parentOf, treeRows } from '../../src/lib/components/tree'
import { conditionOf, weatherOf } from '../../src/lib/components/weather'
import { parseDiff } from '../../src/lib/diff'

describe('a table', () => {
  const props = {
    rows: [
      { n: 'b10', v: 2 },
      { n: 'b9', v: null },
      { n: 'a', v: 10 },
    ],
  }
  const columns = columnsOf(props)
  it('takes its columns from the first row, and sees what they hold', () =>
    expect(columns).toMatchObject([
      { key: 'n', type: 'text', align: 'left' },
      { key: 'v', type: 'number', align: 'right' },
    ]))
  it.each([
    [undefined, [0, 1, 2]],
    [{ key: 'v', direction: 'asc' as const }, [0, 2, 1]],
    [{ key: 'v', direction: 'desc' as const }, [2, 0, 1]],
    [{ key: 'n', direction: 'asc' as const }, [2, 1, 0]],
    [{ key: 'other', direction: 'asc' as const }, [0, 1, 2]],
  ])('is sorted by %j; what is missing comes last', (sorting, order) =>
    expect(sorted(rowsOf(props), columns, sorting)).toEqual(order),
  )
  it('sorts up, down, and as it came', () => {
    const up = nextSorting(undefined, 'n')
    const down = nextSorting(up, 'n')
    expect([up, down, nextSorting(down, 'n')]).toEqual([
      { key: 'n', direction: 'asc' },
      { key: 'n', direction: 'desc' },
      undefined,
    ])
  })
  it('reads rows that are lists by place', () => {
    expect(columnsOf({ rows: [[1, 'x']] }).map(({ label }) => label)).toEqual(['Column 1', 'Column 2'])
    expect(cellOf([1, 'x'], 'any', 1)).toBe('x')
    expect(cellOf({ a: 1 }, 'constructor', 0)).toBeUndefined()
  })
  it.each([[undefined], [7], [[null, 3, 'x']], [{}]])('takes anything: %j', (rows) =>
    expect(sorted(rowsOf({ rows }), columnsOf({ rows }), undefined).length).toBeLessThan(4),
  )
})

describe('many rows', () => {
  it('are in the document only where they are seen', () => {
    expect(spanOf(50, 30, 0, 400)).toEqual({ from: 0, to: 50, above: 0, below: 0 })
    const span = spanOf(5_000, 30, 60_000, 400)
    expect(span.to - span.from).toBeLessThan(50)
    expect(span.above + span.below + (span.to - span.from) * 30).toBe(150_000)
    expect(spanOf(5_000, 30, 1e9, 400).to).toBe(5_000)
  })
})

describe('a tree', () => {
  const nodes = [
    { label: 'a', expanded: true, children: [{ label: 'b' }, { label: 'c', id: 'see', children: [{ label: 'd' }] }] },
    { label: 'e' },
  ]
  it('is rows of what is open', () => {
    expect(treeRows(nodes, {}).map(({ label, path }) => [label, path.join('.')])).toEqual([
      ['a', '0'],
      ['b', '0.0'],
      ['c', '0.1'],
      ['e', '1'],
    ])
    expect(treeRows(nodes, { see: true, 0: true }).map(({ label }) => label)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(treeRows(nodes, { 0: false }).map(({ label }) => label)).toEqual(['a', 'e'])
  })
  it('knows what stands above', () => {
    const rows = treeRows(nodes, { see: true })
    expect(parentOf(rows, 3)).toBe(2)
    expect(parentOf(rows, 4)).toBe(4)
  })
  it('has an end, however deep and however odd', () => {
    let deep: unknown = { label: 'x' }
    for (let at = 0; at < 500; at++) deep = { label: 'x', expanded: true, children: [deep] }
    expect(treeRows([deep], {}).length).toBeLessThan(40)
    for (const odd of [undefined, 7, [null, 3], [{ children: 7 }]]) expect(() => treeRows(odd, {})).not.toThrow()
  })
})

describe('links and pictures', () => {
  it.each([
    ['https://example.org/a?b', 'example.org'],
    ['HTTP://example.org:81/', 'example.org:81'],
    ['mailto:a@example.org', 'a@example.org'],
  ])('%s leads to %s', (address, host) => expect(linkOf(address)?.host).toBe(host))
  it.each([
    'javascript:alert(1)',
    ' jAvascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '/api/sessions',
    '//example.org',
    'https://',
    7,
    null,
  ])('%s leads nowhere', (address) => expect(linkOf(address)).toBeUndefined())
  const blob = (id: string) => `/blob/${id}`
  it('pictures are in the properties or with the daemon', () => {
    expect(pictureOf('data:image/png;base64,AAAA', blob)).toBe('data:image/png;base64,AAAA')
    expect(pictureOf('data:image/svg+xml;base64,AAAA', blob)).toBeDefined()
    expect(pictureOf(`blob:${'a'.repeat(64)}`, blob)).toBe(`/blob/${'a'.repeat(64)}`)
  })
  it.each([
    'https://example.org/x.png',
    'data:text/html;base64,AAAA',
    'data:image/svg+xml,<svg/>',
    'blob:../sessions',
    `data:image/png;base64,${'A'.repeat(3_000_000)}`,
    7,
  ])('and nothing else: %.40s', (source) => expect(pictureOf(source, blob)).toBeUndefined())
})

describe('what does not fit a schema', () => {
  const schema = {
    type: 'object',
    properties: {
      type: { enum: ['bar'] },
      data: {
        type: 'array',
        items: {
          anyOf: [{ type: 'number' }, { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
        },
        maxItems: 3,
      },
      node: { $ref: '#/$defs/node' },
      id: { type: 'string', pattern: '^[a-z]+$', maxLength: 3 },
      pair: { prefixItems: [{ type: 'integer' }, { type: 'string' }] },
    },
    required: ['type'],
    additionalProperties: { type: 'string' },
    $defs: {
      node: {
        type: 'object',
        properties: { inside: { $ref: '#/$defs/node' }, at: { type: 'integer', minimum: 0, maximum: 9 } },
      },
    },
  }
  it.each([
    [{ type: 'bar' }],
    [{ type: 'bar', data: [1, { n: 2 }], node: { inside: { at: 3 } }, id: 'abc', pair: [1, 'x'], more: 'y' }],
  ])('%j fits', (value) => expect(misfit(value, schema)).toBeUndefined())
  it.each([
    [7, 'The properties must be an object'],
    [{}, 'The properties must have type'],
    [{ type: 'pie' }, '/type must be one of "bar"'],
    [{ type: 'bar', data: 'x' }, '/data must be a list'],
    [{ type: 'bar', data: [1, 2, 3, 4] }, '/data has more than 3 entries'],
    [{ type: 'bar', data: [{ n: 'x' }] }, '/data/0/n must be a number'],
    [{ type: 'bar', node: { inside: { inside: { at: 12 } } } }, '/node/inside/inside/at must be at most 9'],
    [{ type: 'bar', node: { at: 1.5 } }, '/node/at must be a whole number'],
    [{ type: 'bar', id: 'AB' }, '/id must look like ^[a-z]+$'],
    [{ type: 'bar', id: 'abcd' }, '/id is longer than 3'],
    [{ type: 'bar', pair: [1, 2] }, '/pair/1 must be a text'],
    [{ type: 'bar', more: 1 }, '/more must be a text'],
  ])('%j: %s', (value, reason) => expect(misfit(value, schema)).toBe(reason))
  it('a schema that is none asks for nothing', () => {
    for (const odd of [undefined, null, true, 7, { $ref: '#/nowhere' }, { pattern: '(' }])
      expect(misfit('x', odd)).toBeUndefined()
    const round = { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }
    expect(misfit('x', round)).toBeUndefined()
  })
})

describe('a diff from two texts', () => {
  it('is what changed, with the lines around it', () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`)
    const after = before.toSpliced(10, 1, 'other', 'more')
    const { added, removed, lines } = parseDiff(diffOf(before.join('\n'), after.join('\n')))
    expect([added, removed]).toEqual([2, 1])
    expect(lines.filter(({ kind }) => kind === 'same')).toHaveLength(6)
    expect(lines.find(({ kind }) => kind === 'del')).toMatchObject({ text: 'line 10', before: 11 })
  })
  it.each([
    ['', ''],
    ['a', ''],
    ['', 'a\nb'],
    ['a\nb\nc', 'c\nb\na'],
  ])('%j to %j', (before, after) => {
    const { lines } = parseDiff(diffOf(before, after))
    const side = (not: string) =>
      lines
        .filter(({ kind }) => kind !== not && kind !== 'hunk')
        .map(({ text }) => text)
        .join('\n')
    if (before !== after) expect([side('add'), side('del')]).toEqual([before, after])
  })
  it('stands side by side', () => {
    const pairs = sideBySide(parseDiff('@@ -1,3 +1,3 @@\n a\n-b\n-c\n+d\n e').lines)
    expect(pairs.map(({ left, right }) => [left?.text, right?.text])).toEqual([
      [undefined, undefined],
      ['a', 'a'],
      ['b', 'd'],
      ['c', undefined],
      ['e', 'e'],
    ])
  })
  it('files come alone or together, with what is odd left out', () => {
    expect(diffsOf({ path: 'a', diff: '+x' })).toHaveLength(1)
    expect(diffsOf({ files: [null, { path: 'b', new_text: 'x' }, 7] })).toMatchObject([{ path: 'b', kind: 'modified' }])
  })
})

describe('words and places', () => {
  it('numbers', () => {
    expect([decimal(1234.5), decimal(-0.125), decimal(7), decimal(1e20), decimal(NaN)]).toEqual([
      '1\u202f234.5',
      '−0.13',
      '7',
      '1.00e+20',
      '',
    ])
    expect([short(12_345), short(3_400_000), short(950)]).toEqual(['12.3\u202fk', '3.4\u202fM', '950'])
    expect(valueWords(2_048, 'bytes')).toBe('2.0\u202fKB')
    expect(valueWords(90, 'duration')).toBe('1\u202fmin 30\u202fs')
    expect(valueWords(false, undefined)).toBe('no')
    expect(dateWords('2026-05-04')).toBe('4 May 2026')
    expect(dateWords('soon')).toBe('soon')
  })
  it('weather by either name, known and unknown', () => {
    expect(weatherOf({ city: 'Ghent', temp: 7, unit: 'F' })).toMatchObject({
      place: 'Ghent',
      temperature: 7,
      unit: '°F',
    })
    expect(conditionOf('Partly Cloudy')).toEqual({ glyph: 'partly_cloudy', words: 'Partly cloudy' })
    expect(conditionOf('Ash fall')).toEqual({ glyph: undefined, words: 'Ash fall' })
    expect(conditionOf('constructor').glyph).toBeUndefined()
  })
  it('a map holds all its points, and north is up', () => {
    const { points, lines } = mapOf(
      {
        points: [
          { lat: 51, lon: 3 },
          { lat: 45, lon: 5 },
          { lat: 'x', lon: 1 },
        ],
        lines: [{ points: [[51, 3], [45, 5], ['x']] }],
      },
      600,
      300,
    )
    expect(points.map(({ index }) => index)).toEqual([0, 1])
    expect(points.every(({ x, y }) => x > 0 && x < 600 && y > 0 && y < 300)).toBe(true)
    expect(points[0]?.y).toBeLessThan(points[1]?.y ?? 0)
    expect(lines[0]?.places).toHaveLength(2)
    expect(mapOf({ points: [{ lat: 90, lon: 180 }] }, 10, 10).points.every(({ x, y }) => Number.isFinite(x + y))).toBe(
      true,
    )
  })
  it('files are named from their folder, and only blobs can be opened', () => {
    expect(filesOf({ root: '/w/', files: [{ path: '/w/a.rs', blob: '../x' }, 7] })).toMatchObject([
      { path: 'a.rs', kind: 'file', blob: undefined },
    ])
  })
  it('actions are buttons with a name', () => {
    expect(
      actionsOf({
        actions: [{ action: 'go', label: 'Go', style: 'danger', payload: 1 }, 7, {}, { action: 'stop', style: 'huge' }],
      }),
    ).toEqual([
      { action: 'go', label: 'Go', style: 'danger', payload: 1 },
      { action: 'stop', label: 'stop', style: 'plain' },
    ])
    expect(actionsOf({ actions: 'x' })).toEqual([])
  })
})
