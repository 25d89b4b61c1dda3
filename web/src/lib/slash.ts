// Commands that an agent understands after a slash at the start of a message. Not here: the menu.

import type { SlashCommand } from './types'

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

/** The text with the command in place of what was typed of it. */
export function complete(text: string, caret: number, command: SlashCommand): string {
  return `/${bare(command.name)} ${text.slice(caret).trimStart()}`
}
