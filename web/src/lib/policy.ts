// Rules in words. Which rules count, and what each is about, is the daemon's to say.

import type { Policy, PolicyEffect, PolicyMode, PolicyRule, RuleLayer, RuleScope, StoredRule } from 'turnloom'
import { ago } from './format'

export const EFFECT_WORDS: Record<PolicyEffect, string> = { allow: 'Allows', ask: 'Asks', deny: 'Denies' }

export interface RuleGroup {
  id: RuleLayer
  title: string
  about: string
}

/** From what nobody can change to what changes most often. */
export const GROUPS: readonly RuleGroup[] = [
  { id: 'absolute', title: 'Always denied', about: 'In every mode, whoever asks. No rule can allow it.' },
  { id: 'mode', title: 'Modes', about: 'What a mode says. Yours may name a rule of a mode and count before it.' },
  { id: 'user', title: 'Yours', about: 'Your own rules, in every project.' },
  { id: 'project', title: 'Of the project', about: 'They can only tighten, and count once you trust the project.' },
  { id: 'session', title: 'Of the session', about: 'They can only tighten.' },
  {
    id: 'always',
    title: 'Learned',
    about: 'What somebody answered “always” to. Take one back, and equal calls ask again.',
  },
]

/** The modes with the one that counts first. */
export function modesOf({ modes, mode }: Pick<Policy, 'modes' | 'mode'>): {
  counts?: PolicyMode
  others: PolicyMode[]
} {
  const counts = modes.find(({ name }) => name === mode)
  const others = modes.filter(({ name }) => name !== mode)
  return counts ? { counts, others } : { others }
}

/** Whether a rule has all the words that somebody looks for. */
export function ruleHas(rule: PolicyRule, search: string): boolean {
  const text = `${rule.name} ${rule.says} ${rule.reason ?? ''} ${rule.rule} ${rule.effect}`.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** `policy.toml:12`; where the whole path is wanted there is a title. */
export function placeOf({ file, line }: { file?: string | undefined; line?: number | undefined }): string {
  if (file === undefined) return 'ships with Turnloom'
  const name = file
    .split('/')
    .slice(/[/]modes[/][^/]+$/.test(file) ? -2 : -1)
    .join('/')
  return line ? `${name}:${line}` : name
}

/** Of a rule that somebody learned: whether it is about another project or another session. */
export function isElsewhere(rule: StoredRule, policy: Pick<Policy, 'rules'>): boolean {
  return policy.rules.some(({ name, elsewhere }) => elsewhere === true && name === `always/${rule.id}`)
}

/** When something was, as one says it. */
export function agoWords(at: string, now: number): string {
  const words = ago(at, now)
  return words === 'now' ? 'just now' : `${words} ago`
}

export const SCOPE_WORDS: Record<RuleScope, string> = {
  absolute: 'In every mode',
  mode: 'In a mode',
  session: 'One session',
  project: 'One project',
  user: 'Everywhere',
}

/** What the agents' own modes do, where their names do not say it. */
const AGENT_MODES: Record<string, string> = {
  default: 'Asks as the agent usually does.',
  acceptEdits: 'Edits files without asking.',
  bypassPermissions: 'The agent asks about nothing.',
  dontAsk: 'Refuses what it would ask about.',
  auto: 'The agent decides what to ask about.',
  'read-only': 'Reads, and asks before anything else.',
  'full-access': 'No sandbox, and nothing asks.',
  build: 'Another name for default.',
  code: 'Another name for default.',
  plan: "The agent's own planning.",
}

export const agentModeWords = (name: string): string => AGENT_MODES[name] ?? "The agent's own mode."

/** The daemon's reason begins with the name of the field; a person chose from a list. */
export function refusalWords(refused: string): string {
  const words = refused.replace(/^`[\w.]+`:? /, '')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
