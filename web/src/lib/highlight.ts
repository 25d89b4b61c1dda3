// Colours for code. Nothing of this is loaded before the first finished code block; each language is a file of its own.

import type { GrammarState, HighlighterCore, LanguageRegistration, RegexEngine, ThemedToken } from '@shikijs/core'
import { later } from './slices'

export interface Piece {
  text: string
  colour?: string
  italic?: boolean
  bold?: boolean
}

type Loader = () => Promise<{ default: LanguageRegistration[] }>

const LANGUAGES: Record<string, Loader> = {
  bash: () => import('@shikijs/langs/bash'),
  c: () => import('@shikijs/langs/c'),
  css: () => import('@shikijs/langs/css'),
  diff: () => import('@shikijs/langs/diff'),
  go: () => import('@shikijs/langs/go'),
  html: () => import('@shikijs/langs/html'),
  java: () => import('@shikijs/langs/java'),
  javascript: () => import('@shikijs/langs/javascript'),
  json: () => import('@shikijs/langs/json'),
  markdown: () => import('@shikijs/langs/markdown'),
  python: () => import('@shikijs/langs/python'),
  rust: () => import('@shikijs/langs/rust'),
  sql: () => import('@shikijs/langs/sql'),
  svelte: () => import('@shikijs/langs/svelte'),
  toml: () => import('@shikijs/langs/toml'),
  tsx: () => import('@shikijs/langs/tsx'),
  typescript: () => import('@shikijs/langs/typescript'),
  yaml: () => import('@shikijs/langs/yaml'),
}

const ALIASES: Record<string, string> = {
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  console: 'bash',
  js: 'javascript',
  jsx: 'tsx',
  mjs: 'javascript',
  ts: 'typescript',
  py: 'python',
  rs: 'rust',
  yml: 'yaml',
  md: 'markdown',
  'c++': 'c',
  cpp: 'c',
  hpp: 'c',
  h: 'c',
  patch: 'diff',
  jsonc: 'json',
  htm: 'html',
  golang: 'go',
}

/** Longer code stays plain: colouring it would hold up the page. */
const LONGEST = 40_000

interface Tools {
  highlighter: HighlighterCore
  engine: RegexEngine
}

let loading: Promise<Tools> | undefined
/** Languages whose expressions are compiled. */
const warm = new Set<string>()

async function load(): Promise<Tools> {
  const [{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }] = await Promise.all([
    import('@shikijs/core'),
    import('@shikijs/engine-javascript'),
  ])
  const theme = createCssVariablesTheme({ name: 'turnloom', variablePrefix: '--code-' })
  const engine = createJavaScriptRegexEngine({ forgiving: true })
  return { engine, highlighter: await createHighlighterCore({ themes: [theme], langs: [], engine }) }
}

function knownLanguage(name: string | undefined): string | undefined {
  const word =
    name
      ?.trim()
      .split(/[\s,{]/)[0]
      ?.toLowerCase() ?? ''
  const language = ALIASES[word] ?? word
  return language in LANGUAGES ? language : undefined
}

/** How many lines are coloured in one step. */
const STEP_LINES = 12

/**
 * Gives the code in coloured pieces, one list per line, when there is time for it; says nothing when it stays plain. Gives a function that calls
 * it off.
 */
export function highlight(code: string, name: string | undefined, tell: (lines: Piece[][]) => void): () => void {
  const language = knownLanguage(name)
  const loader = language && LANGUAGES[language]
  let stop: () => void = () => undefined
  let left = false
  if (loader && code.length <= LONGEST) {
    void prepare(language, loader).then(
      (ready) => !left && (stop = later(colour(ready, language, code, tell))),
      // Colours that cannot be loaded are missed by nobody.
      () => undefined,
    )
  }
  return () => {
    left = true
    stop()
  }
}

interface Ready extends Tools {
  grammar: LanguageRegistration | undefined
}

async function prepare(language: string, loader: Loader): Promise<Ready> {
  loading ??= load()
  const [tools, { default: grammars }] = await Promise.all([loading, loader()])
  if (!tools.highlighter.getLoadedLanguages().includes(language)) await tools.highlighter.loadLanguage(grammars)
  return { ...tools, grammar: grammars.at(-1) }
}

/** Every expression of a grammar. */
function* expressions(rule: unknown): Generator<string> {
  if (typeof rule !== 'object' || rule === null) return
  for (const [name, value] of Object.entries(rule)) {
    if (typeof value !== 'string') yield* expressions(value)
    else if (name === 'match' || name === 'begin' || name === 'end' || name === 'while') yield value
  }
}

/** The first line of a language would compile most of its expressions at once, and hold up the page. */
function* warmUp(engine: RegexEngine, grammar: unknown) {
  for (const expression of expressions(grammar)) {
    engine.createScanner([expression])
    yield
  }
}

function* colour(
  { highlighter, engine, grammar }: Ready,
  lang: string,
  code: string,
  tell: (lines: Piece[][]) => void,
) {
  if (!warm.has(lang)) yield* warmUp(engine, grammar)
  warm.add(lang)
  const source = code.split('\n')
  const lines: Piece[][] = []
  let grammarState: GrammarState | undefined
  while (lines.length < source.length) {
    const part = source.slice(lines.length, lines.length + STEP_LINES).join('\n')
    const result = highlighter.codeToTokens(part, {
      lang,
      theme: 'turnloom',
      ...(grammarState ? { grammarState } : {}),
    })
    grammarState = result.grammarState
    lines.push(...result.tokens.map((line) => joined(line.map(piece))))
    yield
  }
  tell(lines)
}

/** Neighbours that look the same are one piece. */
function joined(pieces: Piece[]): Piece[] {
  const result: Piece[] = []
  for (const next of pieces) {
    const last = result.at(-1)
    const same = last && last.colour === next.colour && last.italic === next.italic && last.bold === next.bold
    // White space has no colour.
    if (last && (same || next.text.trim() === '')) last.text += next.text
    else result.push({ ...next })
  }
  return result
}

function piece({ content, color, fontStyle = 0 }: ThemedToken): Piece {
  return {
    text: content,
    ...(color ? { colour: color } : {}),
    italic: (fontStyle & 1) !== 0,
    bold: (fontStyle & 2) !== 0,
  }
}
