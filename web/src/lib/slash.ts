// Commands that an agent understands after a slash at the start of a message. Not here: the menu.

import type { SlashCommand, View } from 'turnloom'

const MOST = 8

/** What has been typed of a command so far, if that is what is being typed. */
export function slashWord(text: string, caret: number): string | undefined {
  const word = /^\/(\S*)$/.exec(text.slice(0, caret))
  return word?.[1]
}

const bare = (name: string) => name.replace(/^\//, '')

/** The commands that may be meant: those that begin so, then those that say so somewhere. */
export function matching(commands: SlashCommand[] | undefined, word: string | undefined): SlashCommand[] {
  if (!commands || word === undefined) return []
  const wanted = word.toLowerCase()
  const named = commands.map((command) => ({ ...command, name: bare(command.name) }))
  const begins = named.filter(({ name }) => name.toLowerCase().startsWith(wanted))
  const says = named.filter(
    ({ name, description }) =>
      !name.toLowerCase().startsWith(wanted) && `${name} ${description ?? ''}`.toLowerCase().includes(wanted),
  )
  return [...begins, ...says].slice(0, MOST)
}

/** The text with the command in place of the whole word that the caret is in. */
export function complete(text: string, caret: number, command: SlashCommand): string {
  const after = text.slice(caret).replace(/^\S*/, '')
  return `/${bare(command.name)} ${after.trimStart()}`
}

/**
 * The commands of a session. An agent tells them when it starts, which is with the first message from here; until then, also in a conversation that
 * was begun elsewhere, they are those that the same agent told last, which the daemon knows.
 */
export function commandsOf({ session }: View, last: SlashCommand[] | undefined): SlashCommand[] {
  return session.commands ?? last ?? []
}
