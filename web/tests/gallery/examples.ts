// Made-up properties of every built-in component: some that are usual, some that are odd, and its states.

export interface Example {
  name: string
  props: Record<string, unknown>
  status?: 'loading' | 'ready' | 'error'
  error?: string
  waiting?: boolean
  answer?: unknown
}

const PICTURE = (colour: string) =>
  `data:image/svg+xml;base64,${btoa(`<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200" fill="${colour}"/><circle cx="160" cy="100" r="60" fill="white" opacity=".5"/></svg>`)}`

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const wave = (count: number, phase = 0) =>
  Array.from({ length: count }, (_, at) =>
    Math.round(50 + 40 * Math.sin(at / (count / 12) + phase) + ((at * 7919) % 13)),
  )

const DIFF = `--- a/src/loom.rs
+++ b/src/loom.rs
@@ -1,7 +1,8 @@
 use std::fmt;
 
-pub fn weave(rows: usize) -> Cloth {
-    let mut cloth = Cloth::new();
+/// Weaves a cloth of so many rows.
+pub fn weave(rows: usize, thread: &Thread) -> Cloth {
+    let mut cloth = Cloth::with(thread);
     for row in 0..rows {
         cloth.throw(row);
     }
@@ -20,3 +21,3 @@ impl fmt::Display for Cloth {
-        write!(f, "cloth")
+        write!(f, "cloth of {} rows", self.rows)
     }
 }
`

const CODE = `fn main() {
    // The shuttle goes from one side to the other.
    let rows = 12;
    for row in 0..rows {
        println!("row {row}");
    }
}
`

const SCHEMA = {
  type: 'object',
  required: ['name', 'colour', 'rows'],
  properties: {
    name: {
      type: 'string',
      title: 'Name of the cloth',
      description: 'As it is printed on the label.',
      maxLength: 40,
      examples: ['Indigo throw'],
    },
    colour: { enum: ['indigo', 'madder', 'weld'], title: 'Colour' },
    thread: {
      oneOf: [
        { const: 'w', title: 'Wool' },
        { const: 'l', title: 'Linen' },
        { const: 'c', title: 'Cotton' },
        { const: 's', title: 'Silk' },
        { const: 'h', title: 'Hemp' },
      ],
    },
    rows: { type: 'integer', minimum: 1, maximum: 500, default: 120 },
    tension: { type: 'number', minimum: 0, maximum: 10, multipleOf: 0.5, default: 4.5 },
    washed: { type: 'boolean', title: 'Wash it first' },
    loud: { type: 'boolean', title: 'Tell me when it is done', default: true },
    email: { type: 'string', format: 'email' },
    due: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    marks: { type: 'array', items: { enum: ['fringe', 'selvedge', 'label'] } },
    notes: { type: 'array', items: { type: 'string' }, description: 'What else to think of.' },
    maker: { type: 'object', title: 'Maker', properties: { first: { type: 'string' }, last: { type: 'string' } } },
    extra: { description: 'Anything else.' },
    token: { type: 'string', format: 'password' },
  },
}

const tree = (depth: number): unknown[] =>
  Array.from({ length: 3 }, (_, at) => ({
    label: `thread ${depth}.${at}`,
    expanded: depth < 2 && at === 0,
    ...(depth < 4 ? { children: tree(depth + 1) } : {}),
    ...(at === 1 ? { badge: 'warm', tone: 'warn', detail: 'a little loose' } : {}),
  }))

export const EXAMPLES: Example[] = [
  {
    name: 'weather',
    props: {
      location: 'Ghent',
      temperature: 17.4,
      unit: 'C',
      condition: 'partly_cloudy',
      feels_like: 16,
      high: 19,
      low: 11,
      humidity: 64,
      wind_speed: 14,
      observed_at: '2026-05-04T10:30:00Z',
      forecast: [
        { label: 'Tue', high: 20, low: 12, condition: 'clear', precipitation: 0.05 },
        { label: 'Wed', high: 16, low: 11, condition: 'rain', precipitation: 0.8 },
        { label: 'Thu', high: 15, low: 9, condition: 'thunderstorm', precipitation: 0.9 },
        { label: 'Fri', high: 12, low: 4, condition: 'sleet' },
        { label: 'Sat', high: 3, low: -4, condition: 'snow' },
        { label: 'Sun', high: 9, low: 2, condition: 'fog' },
        { label: 'Mon', high: 14, low: 7, condition: 'wind' },
      ],
    },
  },
  { name: 'weather', props: { city: 'Reykjavík', temp: -3, condition: 'Ash fall' } },
  { name: 'weather', props: { location: 'Ghent' }, status: 'loading' },
  { name: 'weather', props: { location: 'Ghent' }, status: 'error', error: 'The weather service does not answer.' },
  {
    name: 'chart',
    props: {
      title: 'Threads a month',
      type: 'bar',
      data: MONTHS.map((month, at) => ({ month, warp: 20 + ((at * 37) % 50), weft: 12 + ((at * 23) % 40) })),
    },
  },
  {
    name: 'chart',
    props: {
      title: 'Stacked, with what is owed',
      type: 'bar',
      stacked: true,
      data: MONTHS.slice(0, 6).map((month, at) => ({ month, in: 30 + at * 4, out: -12 - at * 2, kept: 8 })),
      unit: 'm',
    },
  },
  {
    name: 'chart',
    props: {
      title: 'Lying',
      type: 'bar',
      horizontal: true,
      data: [
        { who: 'Jacquard looms with a very long name', n: 41 },
        { who: 'Dobby', n: 17 },
        { who: 'Tablet', n: 6 },
      ],
      unit: 'looms',
    },
  },
  {
    name: 'chart',
    props: {
      title: 'Response time',
      type: 'line',
      y_label: 'milliseconds',
      x_label: 'time',
      unit: 'ms',
      data: wave(48).map((p50, at) => ({
        at: new Date(1_777_000_000_000 + at * 1_800_000).toISOString(),
        p50,
        p99: at === 20 || at === 21 ? null : p50 * 1.6,
      })),
    },
  },
  { name: 'chart', props: { title: 'Five thousand points', type: 'line', data: wave(5_000), legend: true } },
  {
    name: 'chart',
    props: {
      title: 'Area',
      type: 'area',
      stacked: true,
      x: 'day',
      y: ['read', 'write'],
      data: wave(30).map((read, at) => ({ day: at + 1, read, write: wave(30, 2)[at] })),
    },
  },
  {
    name: 'chart',
    props: {
      title: 'Share of fibres',
      type: 'pie',
      data: [
        { fibre: 'Wool', kg: 42 },
        { fibre: 'Linen', kg: 23 },
        { fibre: 'Cotton', kg: 18 },
        { fibre: 'Silk', kg: 3 },
      ],
      unit: 'kg',
    },
  },
  {
    name: 'chart',
    props: {
      title: 'Scatter',
      type: 'scatter',
      x: 'weight',
      y: 'strength',
      series: 'kind',
      data: Array.from({ length: 60 }, (_, at) => ({
        weight: 10 + ((at * 31) % 47),
        strength: 5 + ((at * 17) % 29) + (at % 2) * 12,
        kind: at % 2 ? 'dyed' : 'raw',
      })),
      x_label: 'weight',
      y_label: 'strength',
    },
  },
  { name: 'chart', props: { type: 'bar', data: [] } },
  { name: 'chart', props: {}, status: 'loading' },
  {
    name: 'table',
    props: {
      title: 'Cloth',
      columns: [
        'thread',
        { key: 'count', label: 'Count', type: 'number' },
        { key: 'state', type: 'badge' },
        { key: 'since', type: 'date' },
        { key: 'page', type: 'link' },
        { key: 'ok', type: 'boolean' },
      ],
      rows: [
        {
          thread: 'warp',
          count: 1204.5,
          state: 'ready',
          since: '2026-05-01',
          page: 'https://example.org/warp',
          ok: true,
        },
        { thread: 'weft', count: 96, state: 'late', since: '2026-04-11', page: 'javascript:alert(1)', ok: false },
        {
          thread: 'a name that is much longer than the others are, so that it is cut',
          count: null,
          state: '',
          since: '',
          page: '',
          ok: null,
        },
      ],
      selectable: 'many',
    },
  },
  {
    name: 'table',
    props: {
      caption: 'Five thousand rows',
      rows: Array.from({ length: 5_000 }, (_, at) => ({ n: at, square: at * at, name: `row ${at}` })),
      sort: { key: 'square', direction: 'desc' },
    },
  },
  {
    name: 'table',
    props: {
      rows: [
        [1, 'two', { three: 3 }],
        [4, 'five', [6]],
      ],
      page_size: 1,
    },
  },
  { name: 'table', props: { rows: [] } },
  {
    name: 'form',
    props: {
      title: 'A new cloth',
      description: 'What shall I weave?',
      schema: SCHEMA,
      widgets: { tension: 'slider', loud: 'switch' },
      submit_label: 'Weave it',
      cancel_label: 'Not now',
    },
  },
  {
    name: 'form',
    props: {
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number' }, c: { type: 'string' }, d: { type: 'string' } },
      },
      columns: 2,
    },
    waiting: true,
  },
  {
    name: 'form',
    props: {
      title: 'Answered',
      schema: { type: 'object', properties: { colour: { enum: ['indigo', 'madder'] }, rows: { type: 'integer' } } },
    },
    answer: { action: 'submit', values: { colour: 'madder', rows: 7 } },
  },
  {
    name: 'plan_editor',
    props: {
      title: 'How I will weave',
      steps: [
        { id: '1', description: 'Wind the warp', status: 'done' },
        {
          id: '2',
          description: 'Dress the loom, which takes the longest of all and needs two pairs of hands',
          status: 'running',
          detail: 'beam, heddles, reed',
        },
        { id: '3', description: 'Weave', approved: false },
        { id: '4', description: 'Wash', status: 'skipped' },
        'Press it',
        { description: 'Sell it', status: 'failed' },
      ],
    },
  },
  { name: 'plan_editor', props: { steps: ['One', 'Two', 'Three'], current_step: 1 }, waiting: true },
  { name: 'plan_editor', props: { steps: [], editable: false } },
  {
    name: 'approval',
    props: {
      action: 'Push three commits to main',
      details: 'They were reviewed by **nobody**. See `git log`.',
      command: 'git push origin main',
      danger: true,
      allow_message: true,
    },
    waiting: true,
  },
  {
    name: 'approval',
    props: {
      action: 'Which way shall I go?',
      options: [
        { value: 'left', label: 'Left', description: 'Longer, but dry', style: 'primary' },
        { value: 'right', label: 'Right', description: 'Shorter, through the water' },
        'wait',
      ],
    },
  },
  { name: 'approval', props: { action: 'Change the loom', diff: DIFF }, answer: { choice: 'approve', approved: true } },
  {
    name: 'search_results',
    props: {
      query: 'tablet weaving',
      total: 240,
      took_ms: 312,
      results: [
        {
          title: 'Tablet weaving',
          url: 'https://en.example.org/wiki/Tablet_weaving',
          snippet:
            'A technique in which tablets or cards are used to create the shed through which the weft is passed.',
          source: 'Encyclopedia',
          date: '2026-02-11',
        },
        { title: 'A mail to the guild', url: 'mailto:guild@example.org' },
        { title: 'Without an address', snippet: 'Only words.' },
      ],
    },
  },
  { name: 'search_results', props: { query: 'nothing', results: [] } },
  {
    name: 'research_progress',
    props: {
      status: 'reading sources',
      progress: 0.4,
      results_count: 31,
      queries: [
        { text: 'history of the drawloom', status: 'done', results: 18 },
        { text: 'punched cards before 1804', status: 'running', results: 13 },
        'Bouchon and Falcon',
      ],
      findings: ['Bouchon used a paper roll in 1725.', 'Falcon replaced it with cards in 1728.'],
      sources: [{ title: 'A history of textiles', url: 'https://example.org/history' }],
    },
    status: 'loading',
  },
  {
    name: 'progress',
    props: {
      label: 'Weaving',
      value: 84,
      max: 120,
      detail: 'row 84',
      eta_seconds: 95,
      started_at: '2026-05-04T10:30:00Z',
    },
  },
  { name: 'progress', props: { label: 'Looking for the end of the thread', indeterminate: true } },
  {
    name: 'progress',
    props: {
      label: 'Build',
      state: 'failed',
      value: 0.6,
      steps: [
        { label: 'Fetch', state: 'done' },
        { label: 'Compile', state: 'failed' },
        { label: 'Test', state: 'pending' },
      ],
    },
  },
  { name: 'progress', props: {} },
  {
    name: 'key_values',
    props: {
      title: 'The loom',
      items: [
        { label: 'Width', value: 1.4, unit: 'm' },
        { label: 'Size', value: 48_392_192, kind: 'bytes' },
        { label: 'Took', value: 4_512, kind: 'duration' },
        { label: 'Built', value: '2026-03-01', kind: 'date' },
        { label: 'State', value: 'worn', kind: 'badge', tone: 'warn' },
        { label: 'Page', value: 'https://example.org/loom', kind: 'link' },
        { label: 'Id', value: 'loom-7f3a', kind: 'code' },
        { label: 'Missing', value: null },
      ],
    },
  },
  {
    name: 'key_values',
    props: { items: { model: 'Dobby', shafts: 24, electric: false, parts: ['reed', 'beam'] }, columns: 3 },
  },
  {
    name: 'metrics',
    props: {
      title: 'Today',
      metrics: [
        { label: 'Rows', value: 12_840, delta: 340, delta_label: 'since yesterday', tone: 'ok', trend: wave(24) },
        { label: 'Broken threads', value: 7, delta: 3, tone: 'bad', trend: wave(24, 3) },
        { label: 'Load', value: 71, unit: '%', target: 80 },
        { label: 'State', value: 'calm' },
      ],
    },
  },
  { name: 'metrics', props: {}, status: 'loading' },
  {
    name: 'code_diff',
    props: {
      files: [
        { path: 'src/loom.rs', diff: DIFF },
        { path: 'README.md', kind: 'added', old_text: '', new_text: '# Loom\n\nWeaves.\n' },
        {
          path: 'docs/new.md',
          old_path: 'docs/old.md',
          kind: 'renamed',
          old_text: 'one\ntwo\nthree\n',
          new_text: 'one\n2\nthree\n',
        },
      ],
    },
  },
  { name: 'code_diff', props: { path: 'a.txt', diff: DIFF, layout: 'split' }, waiting: true },
  { name: 'code', props: { path: 'src/main.rs', code: CODE, highlight: [3, [4, 5]], start_line: 1 } },
  {
    name: 'markdown',
    props: {
      text: '## A note\n\nSome **bold** words, a [link](https://example.org) and\n\n- one\n- two\n\n`<script>` stays text.',
    },
  },
  { name: 'image', props: { src: PICTURE('#4451c9'), alt: 'A disc on blue', caption: 'Indigo' } },
  { name: 'image', props: { src: 'https://example.org/evil.png', alt: 'From elsewhere' } },
  {
    name: 'gallery',
    props: {
      images: ['#4451c9', '#b45309', '#0f766e', '#a3286b'].map((colour, at) => ({
        src: PICTURE(colour),
        alt: `Colour ${at + 1}`,
        caption: colour,
      })),
    },
  },
  { name: 'tree', props: { nodes: tree(0), selectable: true } },
  {
    name: 'timeline',
    props: {
      events: [
        { at: '2026-05-04T08:00:00Z', title: 'Warp wound', tone: 'ok' },
        {
          at: '2026-05-04T09:15:00Z',
          end: '2026-05-04T11:40:00Z',
          title: 'Loom dressed',
          detail: 'Two heddles were replaced.',
          tone: 'warn',
        },
        { at: '2026-05-04T12:00:00Z', title: 'Thread broke', tone: 'bad' },
        { at: '2026-05-04T13:00:00Z', title: 'Weaving', tone: 'accent' },
      ],
    },
  },
  {
    name: 'map',
    props: {
      points: [
        { lat: 51.05, lon: 3.72, label: 'Ghent', value: 40, detail: 'linen' },
        { lat: 45.76, lon: 4.83, label: 'Lyon', value: 90, detail: 'silk', tone: 'ok' },
        { lat: 53.48, lon: -2.24, label: 'Manchester', value: 60, tone: 'warn', detail: 'cotton' },
        { lat: 43.77, lon: 11.26, label: 'Florence' },
      ],
      lines: [
        {
          points: [
            [51.05, 3.72],
            [45.76, 4.83],
            [43.77, 11.26],
          ],
          label: 'The road',
        },
      ],
    },
  },
  {
    name: 'file_list',
    props: {
      root: '/src/loom',
      files: [
        { path: '/src/loom/src/main.rs', kind: 'modified', additions: 12, deletions: 3, size: 4_210 },
        { path: '/src/loom/docs', kind: 'dir' },
        {
          path: '/src/loom/docs/a/very/deep/path/that/does/not/fit/into/the/row/at/all.md',
          kind: 'added',
          additions: 120,
          deletions: 0,
          size: 18_432,
          note: 'new page',
          modified_at: '2026-05-04',
        },
        { path: '/src/loom/old.txt', kind: 'deleted', additions: 0, deletions: 44 },
      ],
    },
  },
  {
    name: 'json',
    props: {
      value: {
        loom: { kind: 'dobby', shafts: 24, parts: ['reed', 'beam', null, true] },
        threads: Array.from({ length: 40 }, (_, at) => at),
      },
    },
  },
  { name: 'hologram', props: { depth: 7, colour: 'violet' } },
  { name: 'hologram', props: { question: 'Which depth?' }, waiting: true },
  { name: 'chart', props: { title: 'Does not fit', type: 'spiral', data: 7 } },
]
