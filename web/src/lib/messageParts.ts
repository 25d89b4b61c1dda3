// A message of the conversation as it can be sent once more.

import { api } from './api'
import type { Block, Message, MessagePart } from 'turnloom'

export async function partsOf(message: Message): Promise<MessagePart[]> {
  return (await Promise.all(message.blocks.map(partOf))).flat()
}

async function partOf(block: Block): Promise<MessagePart[]> {
  if (block.kind === 'text') return [{ type: 'text', text: block.text }]
  if (block.kind === 'artifact' && block.path) return [{ type: 'file', path: block.path }]
  if (block.kind !== 'image') return []
  // One that was too large for an event is stored as the base64 that came.
  const data = block.data ?? (block.blob && (await (await api.getBlob(block.blob.id)).text()))
  return data === undefined ? [] : [{ type: 'image', media_type: block.media_type, data }]
}
