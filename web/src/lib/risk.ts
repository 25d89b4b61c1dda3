// The part of a command that a person should look at twice. A help for the eye, never a decision: deciding is the daemon's policy.

const RISKS =
  /\b(?:sudo|doas|rm\s+(?:-\S+\s*)+|dd\s+if=\S+|mkfs\S*|chmod\s+(?:-R\s+)?777|chown\s+-R|git\s+push(?:\s+(?:--force\S*|-f))?|git\s+reset\s+--hard|git\s+clean\s+-\S+|curl|wget|ssh|scp|kill(?:all)?\s+-9|npm\s+publish|cargo\s+publish|docker\s+run)(?=\s|$)|--force\b|--no-verify\b|\|\s*(?:sh|bash|zsh)\b|>\s*\/\S+|~\/\.\S+/g

export interface Mark {
  text: string
  risky: boolean
}

export function markRisks(command: string): Mark[] {
  const marks: Mark[] = []
  let at = 0
  for (const match of command.matchAll(RISKS)) {
    if (match.index > at) marks.push({ text: command.slice(at, match.index), risky: false })
    const text = match[0].trimEnd()
    marks.push({ text, risky: true })
    at = match.index + text.length
  }
  if (at < command.length) marks.push({ text: command.slice(at), risky: false })
  return marks
}
