// How a tool call is said in one line: a glyph, a verb, an object.

import type { Block, ToolBlock } from './types'

export type ToolGlyph = 'read' | 'edit' | 'terminal' | 'search' | 'web' | 'agent' | 'tool'

interface Saying {
  glyph: ToolGlyph
  verb: string
}

const SAYINGS: [RegExp, Saying][] = [
  [/^(read|view|cat|notebookread|read_file)$/i, { glyph: 'read', verb: 'Read' }],
  [/^(write|create|write_file)$/i, { glyph: 'edit', verb: 'Write' }],
  [/edit|patch|replace/i, { glyph: 'edit', verb: 'Edit' }],
  [/^(bash|shell|exec|terminal|command|run)|_command$/i, { glyph: 'terminal', verb: 'Run' }],
  [/^(web|fetch|browser)/i, { glyph: 'web', verb: 'Fetch' }],
  [/^(grep|glob|search|find|ls|list)/i, { glyph: 'search', verb: 'Search' }],
  [/^(task|agent|delegate)/i, { glyph: 'agent', verb: 'Delegate' }],
]

export function sayingOf(block: ToolBlock): Saying {
  const known = SAYINGS.find(([pattern]) => pattern.test(block.tool))
  if (known) return known[1]
  if (block.command) return { glyph: 'terminal', verb: 'Run' }
  return { glyph: 'tool', verb: block.tool }
}

/** What a call is about, as exactly as one line allows. */
export function objectOf(block: ToolBlock): string {
  const about = block.command ?? block.pattern ?? block.file_path ?? block.subagent_name
  if (about !== undefined) return about.split('\n')[0] ?? ''
  return block.summary === block.tool ? '' : block.summary
}

export function isRead(block: Block): block is ToolBlock {
  return block.kind === 'tool' && (block.is_file_read === true || sayingOf(block).verb === 'Read')
}

export type Row = { id: string; block: Block } | { id: string; reads: ToolBlock[] }

/** Several reads in a row are one row. It keeps the first one's id, so the page keeps its place when a second read joins. */
export function foldReads(blocks: Block[]): Row[] {
  const rows: Row[] = []
  for (const block of blocks) {
    const last = rows.at(-1)
    if (!isRead(block) || block.status === 'failed') rows.push({ id: block.id, block })
    else if (last && 'reads' in last) last.reads.push(block)
    else rows.push({ id: block.id, reads: [block] })
  }
  return rows
}

export const STATUS_WORDS: Record<string, string> = {
  failed: 'failed',
  denied: 'not allowed',
  interrupted: 'interrupted',
  background: 'in the background',
}
