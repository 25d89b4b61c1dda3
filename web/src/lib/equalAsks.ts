// Asks that wait for the same call as another one: one answer can settle them all.

import type { Ask, PermissionBlock } from 'turnloom'

/** As the daemon compares them: the tool, and the input by its digest where a rule was asked. */
function identity(request: Pick<PermissionBlock, 'tool_name' | 'tool_input' | 'judged'>): string {
  return JSON.stringify([request.tool_name, request.judged?.input_sha256 ?? request.tool_input])
}

export function equalAsks(block: PermissionBlock, asks: readonly Ask[]): Ask[] {
  const wanted = identity(block)
  return asks.filter(
    (ask) =>
      ask.kind === 'permission' &&
      ask.ask_id !== block.ask_id &&
      identity(ask.request as unknown as PermissionBlock) === wanted,
  )
}
