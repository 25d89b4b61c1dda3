// What a message says. Streams do not send it, because it says nothing that the blocks do not.

import type { Message } from './types.js'

/** The texts of a message, with a blank line where something else stood between them. */
export function contentOf(message: Message): string {
  let content = ''
  let followsText = false
  for (const block of message.blocks) {
    if (block.kind === 'text' && block.text !== '') {
      if (content !== '' && !followsText && !content.endsWith('\n')) content += '\n\n'
      content += block.text
    }
    followsText = block.kind === 'text'
  }
  return content
}
