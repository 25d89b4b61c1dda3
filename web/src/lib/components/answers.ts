// What somebody answered, in one line.

import { json } from '../format'
import { fieldsOf, isFields, textOf, type Fields } from './read'

const LONGEST = 160

/** The answer a component gave, as people would say it; anything else as it is. */
export function answerWords(name: string, value: unknown): string {
  const fields = fieldsOf(value)
  const said = (words: string) => cut([words, textOf(fields['message'])].filter(Boolean).join(': '))
  if (name === 'approval' && textOf(fields['choice'])) return said(textOf(fields['choice']))
  if (name === 'plan_editor' && typeof fields['approved'] === 'boolean')
    return said(fields['approved'] ? 'approved the plan' : 'did not approve the plan')
  if (name === 'code_diff' && textOf(fields['choice'])) return said(textOf(fields['choice']))
  if (fields['action'] === 'cancel') return 'cancelled'
  if (fields['action'] === 'submit' && isFields(fields['values'])) return cut(pairs(fields['values']))
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return cut(typeof value === 'string' ? value : isFields(value) ? pairs(value) : json(value))
}

const pairs = (values: Fields) =>
  Object.entries(values)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${typeof value === 'object' ? json(value) : textOf(value)}`)
    .join(', ')

const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)
