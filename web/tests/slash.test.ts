import { describe, expect, it } from 'vitest'
import type { View } from 'turnloom'
import { commandsOf, complete, matching, slashWord } from '../src/lib/slash'

const COMMANDS = [
  { name: '/compact', description: 'Make the history smaller' },
  { name: 'review', description: 'Look at a change', hint: 'FILE' },
  { name: 'clear', description: 'Start again, compact or not' },
]

describe('slash commands', () => {
  it.each([
    ['/', 1, ''],
    ['/rev', 4, 'rev'],
    ['/review src', 4, 'rev'],
    ['/review src', 11, undefined],
    [' /rev', 5, undefined],
    ['a/b', 3, undefined],
    ['', 0, undefined],
  ])('%j at %i', (text, caret, word) => expect(slashWord(text, caret)).toBe(word))

  it('offers what begins so, then what says so, and nothing where there is nothing', () => {
    const names = (word: string | undefined) => matching(COMMANDS, word).map(({ name }) => name)
    expect(names('')).toEqual(['compact', 'review', 'clear'])
    expect(names('COMP')).toEqual(['compact', 'clear'])
    expect(names('change')).toEqual(['review'])
    expect(names('nothing')).toEqual([])
    expect(names(undefined)).toEqual([])
    expect(matching(undefined, '')).toEqual([])
  })

  it('are those that the same agent told last, until its own are known', () => {
    const view = (commands: typeof COMMANDS | undefined, messages: object[]) =>
      ({ session: { commands }, messages }) as unknown as View
    expect(commandsOf(view(undefined, []), COMMANDS)).toEqual(COMMANDS)
    expect(commandsOf(view([], []), COMMANDS)).toEqual([])
    // Also where something has been said already, to an agent that was somebody else's then.
    expect(commandsOf(view(undefined, [{}]), COMMANDS)).toEqual(COMMANDS)
    expect(commandsOf(view(undefined, []), undefined)).toEqual([])
  })

  it('puts the command in place of what was typed of it', () => {
    expect(complete('/rev', 4, { name: '/review' })).toBe('/review ')
    expect(complete('/rev src', 4, { name: 'review' })).toBe('/review src')
    // In the middle of a word all of the word is meant.
    expect(complete('/rewind src', 3, { name: 'review' })).toBe('/review src')
    expect(complete('/rewind', 0, { name: 'review' })).toBe('/review ')
  })
})
