// The built-in components by name: what each takes, what it can send, what it answers. The shapes are generated from the registry; see `generated/`.

import type { components as Registry } from '../generated/components.js'

type Schemas = Registry['schemas']

export type BuiltinName = keyof Schemas['Props']
/** The props of each, by name. */
export type BuiltinProps = { [N in BuiltinName]: Schemas['Props'][N] & CommonProps }
/** What each can send: the payload of every action, by name. */
export type BuiltinCallbacks = Schemas['Callbacks']
/** What those answer that somebody can wait for. */
export type BuiltinAnswers = Schemas['Answers']

/** What every component takes besides its own. */
export interface CommonProps {
  title?: string
  description?: string
  /** Buttons that send a callback. */
  actions?: { action: string; label: string; style?: 'primary' | 'danger' | 'plain'; payload?: unknown }[]
}
