// Terminal colours. Understands the escape sequences that programs use for colour and weight, and drops all others.

export interface Span {
  text: string
  /** 0 to 15 as in terminals, or a CSS colour. */
  fg?: number | string
  bg?: number | string
  bold?: boolean
  dim?: boolean
  italic?: boolean
  underline?: boolean
}

type Style = Omit<Span, 'text'>

const ESCAPE =
  /\x1b\[([0-9;:?]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>A-Z]|[\x00-\x08\x0b\x0c\x0e-\x1a\x7f]/g

export function parseAnsi(source: string): Span[] {
  const spans: Span[] = []
  let style: Style = {}
  let at = 0
  const push = (text: string) => {
    if (text) spans.push({ text, ...style })
  }
  for (const match of source.matchAll(ESCAPE)) {
    push(source.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') style = next(style, (match[1] ?? '').split(/[;:]/).map(Number))
  }
  push(source.slice(at))
  return spans
}

/** What a terminal would show: a carriage return goes back to the start of its line. */
export function settle(source: string): string {
  if (!source.includes('\r')) return source
  return source
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.replace(/\r+$/, '').split('\r').at(-1) ?? '')
    .join('\n')
}

function next(style: Style, codes: number[]): Style {
  const result = { ...style }
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0
    if (code === 0) for (const name of Object.keys(result) as (keyof Style)[]) delete result[name]
    else if (code === 1) result.bold = true
    else if (code === 2) result.dim = true
    else if (code === 3) result.italic = true
    else if (code === 4) result.underline = true
    else if (code === 22) result.bold = result.dim = false
    else if (code === 23) result.italic = false
    else if (code === 24) result.underline = false
    else if (code >= 30 && code <= 37) result.fg = code - 30
    else if (code >= 90 && code <= 97) result.fg = code - 82
    else if (code >= 40 && code <= 47) result.bg = code - 40
    else if (code >= 100 && code <= 107) result.bg = code - 92
    else if (code === 39) delete result.fg
    else if (code === 49) delete result.bg
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(i + 1))
      if (colour !== undefined) result[code === 38 ? 'fg' : 'bg'] = colour
      i += used
    }
  }
  return result
}

function extended(codes: number[]): [number | string | undefined, number] {
  const [kind, a = 0, b = 0, c = 0] = codes
  if (kind === 2) return [`rgb(${a & 255} ${b & 255} ${c & 255})`, 4]
  if (kind !== 5) return [undefined, 1]
  if (a < 16) return [a, 2]
  if (a >= 232)
    return [
      `rgb(${Array(3)
        .fill(8 + (a - 232) * 10)
        .join(' ')})`,
      2,
    ]
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40)
  const cube = a - 16
  return [`rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`, 2]
}
