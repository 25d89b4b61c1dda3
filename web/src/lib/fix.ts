// What to do about a problem, taken apart: words, names as they are written, and commands that can be copied.

export interface FixPart {
  text: string
  kind: 'words' | 'name' | 'command'
}

/** What can be run in a terminal begins with one of these programs. */
const COMMAND = /^(turnloom|claude|codex|npm|npx|git|cargo)( [\w@./:=-]+)*$/

/** Between backticks stands a command or a name, such as that of a setting; without any, all of it is words or all of it is a command. */
export function fixParts(fix: string): FixPart[] {
  const quotes = fix.includes('`')
  const kindOf = (text: string, at: number) => {
    const exact = quotes ? at % 2 === 1 : true
    return exact && COMMAND.test(text) ? 'command' : exact && quotes ? 'name' : 'words'
  }
  return fix
    .split('`')
    .map((text, at): FixPart => ({ text, kind: kindOf(text, at) }))
    .filter(({ text }) => text !== '')
}
