import { describe, expect, it } from 'vitest'
import { asDraft } from '../src/lib/attachments'

describe('what is sent once more', () => {
  it('is words, and what came with them', () => {
    const words = { type: 'text' as const, text: 'look at this' }
    const file = { type: 'text' as const, text: 'File notes.md:\n\n```\nhi\n```' }
    const picture = { type: 'image' as const, media_type: 'image/png', data: 'AA==' }
    const { text, attachments } = asDraft([words, picture, file])
    expect(text).toBe('look at this')
    expect(attachments.map(({ name, part }) => [name, part])).toEqual([
      ['Picture', picture],
      ['File notes.md:', file],
    ])
    expect(asDraft([words])).toEqual({ text: 'look at this', attachments: [] })
    expect(asDraft([picture]).text).toBe('')
  })
})
