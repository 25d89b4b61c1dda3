// Colours for code. Nothing of this is loaded before the first finished code block; each language is a file of its own.

import type { HighlighterCore, LanguageRegistration } from '@shikijs/core'

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

let loading: Promise<HighlighterCore> | undefined

async function load(): Promise<HighlighterCore> {
  const [{ createHighlighterCore, createCssVariablesTheme }, { createJavaScriptRegexEngine }] = await Promise.all([
    import('@shikijs/core'),
    import('@shikijs/engine-javascript'),
  ])
  const theme = createCssVariablesTheme({ name: 'turnloom', variablePrefix: '--code-' })
  return createHighlighterCore({ themes: [theme], langs: [], engine: createJavaScriptRegexEngine({ forgiving: true }) })
}

export function knownLanguage(name: string | undefined): string | undefined {
  const word =
    name
      ?.trim()
      .split(/[\s,{]/)[0]
      ?.toLowerCase() ?? ''
  const language = ALIASES[word] ?? word
  return language in LANGUAGES ? language : undefined
}

/** The code in coloured pieces, one list per line; nothing when it stays plain. */
export async function highlight(code: string, name: string | undefined): Promise<Piece[][] | undefined> {
  const language = knownLanguage(name)
  const loader = language && LANGUAGES[language]
  if (!loader || code.length > LONGEST) return undefined
  loading ??= load()
  const highlighter = await loading
  if (!highlighter.getLoadedLanguages().includes(language)) await highlighter.loadLanguage((await loader()).default)
  const { tokens } = highlighter.codeToTokens(code, { lang: language, theme: 'turnloom' })
  return tokens.map((line) =>
    line.map(({ content, color, fontStyle = 0 }) => ({
      text: content,
      ...(color ? { colour: color } : {}),
      italic: (fontStyle & 1) !== 0,
      bold: (fontStyle & 2) !== 0,
    })),
  )
}
