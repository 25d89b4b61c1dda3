// How a tool call is said in one line: a glyph, a verb, an object.

import type { Block, PermissionBlock, ToolBlock } from 'turnloom'

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
  [/^exit_?plan_?mode$/i, { glyph: 'agent', verb: 'Show the plan' }],
  [/^(task|agent|delegate)/i, { glyph: 'agent', verb: 'Delegate' }],
]

/** What a permission is about, with a verb: some agents say only which file. */
export function permissionTitle({ title, tool_name, tool_input }: PermissionBlock): string {
  const input = (tool_input ?? {}) as Record<string, unknown>
  const path = input['file_path'] ?? input['notebook_path']
  const isPath = typeof path === 'string' && (path === title || path.endsWith(`/${title}`))
  return isPath ? `${sayingOf({ tool: tool_name }).verb} ${title}` : title
}

/** The words of a choice that stores a rule, with the exact rule set apart: in its place, or after them where they do not name it. */
export function ruleParts(label: string, rule: string | undefined): { text: string; exact: boolean }[] {
  if (!rule) return [{ text: label, exact: false }]
  // Where it holds (`session: …`) is said in the words.
  const what = rule.replace(/^\w+: /, '')
  const [before, ...after] = label.split(what)
  const parts =
    after.length > 0
      ? [
          [before, false],
          [what, true],
          [after.join(what), false],
        ]
      : [
          [`${label} `, false],
          [rule, true],
        ]
  return parts.flatMap(([text, exact]) => (text ? [{ text: String(text), exact: exact === true }] : []))
}

export function sayingOf(block: Pick<ToolBlock, 'tool' | 'command'>): Saying {
  const known = SAYINGS.find(([pattern]) => pattern.test(block.tool))
  if (known) return known[1]
  if (block.command) return { glyph: 'terminal', verb: 'Run' }
  return { glyph: 'tool', verb: block.tool }
}

/** A path from the session's folder, where it is inside. */
export function inside(path: string, cwd: string | undefined): string {
  const folder = cwd?.replace(/\/+$/, '')
  return folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path
}

/** What a call is about, as exactly as one line allows. */
export function objectOf(block: ToolBlock, cwd?: string): string {
  const path = block.file_path === undefined ? undefined : inside(block.file_path, cwd)
  const about = block.command ?? block.pattern ?? path ?? block.subagent_name
  if (about !== undefined) return about.split('\n')[0] ?? ''
  return block.summary === block.tool ? '' : block.summary
}

function isRead(block: Block): block is ToolBlock {
  return block.kind === 'tool' && (block.is_file_read === true || sayingOf(block).verb === 'Read')
}

/** Whether a call is among blocks, or in a sub-agent among them. */
export function holdsCall(blocks: readonly Block[], call: string): boolean {
  return blocks.some(
    (block) =>
      (block.kind === 'tool' && block.tool_use_id === call) ||
      (block.kind === 'subagent' && holdsCall(block.blocks, call)),
  )
}

export type Row = { id: string; block: Block } | { id: string; reads: ToolBlock[] }

/** Several reads in a row are one row. It keeps the first one's id, so the page keeps its place when a second read joins. */
export function foldReads(blocks: Block[]): Row[] {
  const rows: Row[] = []
  for (const block of blocks) {
    const last = rows.at(-1)
    // A picture is there to be seen.
    if (!isRead(block) || block.status === 'failed' || block.images) rows.push({ id: block.id, block })
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
