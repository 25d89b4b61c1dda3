// One thing that a person allows, refuses or changes: which answers there are, and what each of them says.

import { isFields, listOf, textOf, wordOf, type Fields } from './read'

export interface Option {
  value: string
  label: string
  description: string
  style: 'primary' | 'danger' | 'plain'
  approves: boolean
}

const MOST_OPTIONS = 12

export function optionsOf(props: Fields): Option[] {
  const told = listOf(props['options'], MOST_OPTIONS).flatMap((option) => {
    const fields: Fields = isFields(option) ? option : { value: textOf(option) }
    const value = textOf(fields['value'])
    return value === '' ? [] : [{ fields, value }]
  })
  const options = told.length > 0 ? told : ['approve', 'reject'].map((value) => ({ fields: {} as Fields, value }))
  // An option that says `primary` approves, whatever it is called; without one it is the one called `approve`.
  const primary = options.find(({ fields, value }) => fields['style'] === 'primary' && value !== 'approve')?.value
  const approving = primary ?? 'approve'
  return options.map(({ fields, value }) => ({
    value,
    label: textOf(fields['label']) || (told.length > 0 ? value : value === 'approve' ? 'Approve' : 'Reject'),
    description: textOf(fields['description']),
    style:
      wordOf(fields['style'], ['primary', 'danger', 'plain'] as const) ??
      (value === approving ? (props['danger'] === true ? 'danger' : 'primary') : 'plain'),
    approves: value === approving,
  }))
}

export const answerOf = ({ value, approves }: Option, message: string) => ({
  choice: value,
  approved: approves,
  ...(message.trim() === '' ? {} : { message: message.trim() }),
})
