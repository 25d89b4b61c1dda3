// Files on their way into a message: images as images, text as text that says where it came from.

import { newId, type MessagePart } from 'turnloom'
import { bytes } from './format'

export interface Attachment {
  id: string
  name: string
  size: number
  part: MessagePart
  preview?: string
}

/** What a message said before, to be sent again as it was: its words, and what came with them. */
export function asDraft(parts: MessagePart[]): { text: string; attachments: Attachment[] } {
  const words = parts.find((part) => part.type === 'text')
  const attachments = parts.filter((part) => part !== words)
  return {
    text: words?.text ?? '',
    attachments: attachments.map((part) => ({ id: newId(), name: nameOf(part), size: 0, part })),
  }
}

function nameOf(part: MessagePart): string {
  if (part.type === 'text') return part.text.split('\n', 1)[0] ?? ''
  return part.type === 'file' ? part.path : 'Picture'
}

const LARGEST_IMAGE = 5 * 1024 * 1024
const LARGEST_TEXT = 256 * 1024

export async function readFiles(files: File[], held: Attachment[]): Promise<{ added: Attachment[]; refused: string }> {
  const added: Attachment[] = []
  const refused: string[] = []
  for (const file of files) {
    if (held.some((other) => other.name === file.name && other.size === file.size)) continue
    const image = /^image\/(png|jpeg|gif|webp)$/.test(file.type)
    const limit = image ? LARGEST_IMAGE : LARGEST_TEXT
    if (file.size > limit) {
      refused.push(`${file.name} is ${bytes(file.size)}; at most ${bytes(limit)} can be sent.`)
    } else if (image) {
      const data = await base64(file)
      added.push(attachment(file, { type: 'image', media_type: file.type, data }, `data:${file.type};base64,${data}`))
    } else {
      const text = await file.text()
      if (text.includes('\0')) refused.push(`${file.name} is neither text nor an image that agents read.`)
      else added.push(attachment(file, { type: 'text', text: `File ${file.name}:\n\n${fence(text)}` }))
    }
  }
  return { added, refused: refused.join(' ') }
}

function attachment(file: File, part: MessagePart, preview?: string): Attachment {
  return { id: newId(), name: file.name, size: file.size, part, ...(preview ? { preview } : {}) }
}

/** A fence that is longer than any in the text. */
function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((match) => match[0].length))
  const marks = '`'.repeat(longest + 1)
  return `${marks}\n${text.replace(/\n$/, '')}\n${marks}`
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'))
    reader.readAsDataURL(file)
  })
}
