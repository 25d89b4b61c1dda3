// What every component takes beside its own properties: a title, a description, and buttons that tell the agent something.

import { rowsOf, textOf, wordOf, type Fields } from './read'

export interface Action {
  action: string
  label: string
  style: 'primary' | 'danger' | 'plain'
  payload?: unknown
}

const MOST_ACTIONS = 12
const LONGEST_TITLE = 200

/** What it is called: by the agent, else by the registry, else by its name. */
export const titleOf = (props: Fields, known: string | undefined, name: string) =>
  ownTitle(props) || known || name.replaceAll('_', ' ')

export const ownTitle = (props: Fields) => textOf(props['title']).trim().slice(0, LONGEST_TITLE)

export function actionsOf(props: Fields): Action[] {
  return rowsOf(props['actions'], MOST_ACTIONS).flatMap((row) => {
    const action = textOf(row['action'])
    if (action === '') return []
    const style = wordOf(row['style'], ['primary', 'danger', 'plain'] as const) ?? 'plain'
    return [
      {
        action,
        label: textOf(row['label']) || action,
        style,
        ...('payload' in row ? { payload: row['payload'] } : {}),
      },
    ]
  })
}

/** The properties that are a component's own. */
export const ownProps = (props: Fields): Fields =>
  Object.fromEntries(Object.entries(props).filter(([name]) => !['title', 'description', 'actions'].includes(name)))
