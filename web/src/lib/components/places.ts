// Where components stand, and how they are found. Not here: what is open (`surfaces.svelte.ts`).

import type { Block, Component, ComponentBlock, InterruptBlock, ToolBlock, View } from 'turnloom'

export type Surface = Component['surface']
/** Beside, above or instead of the conversation. */
export type Place = Exclude<Surface, 'chat'>

export const PLACE_WORDS: Record<Surface, string> = {
  chat: 'in the conversation',
  sidebar: 'in the sidebar',
  panel: 'in the panel',
  canvas: 'on the canvas',
  overlay: 'above the conversation',
}

/**
 * Where one stands that is not in the chat: where it wants to, if it may. Else the first of its places; the conversation has no place for something
 * that was not said there.
 */
export function placeOf(component: Pick<Component, 'surface'>, surfaces: readonly string[] | undefined): Place {
  const asked = component.surface
  const may = (surfaces ?? []).filter((surface): surface is Place => surface !== 'chat' && surface in PLACE_WORDS)
  if (asked !== 'chat' && (surfaces === undefined || may.includes(asked))) return asked
  return may[0] ?? (asked === 'chat' ? 'panel' : asked)
}

function* blocksOf(view: View): Generator<Block> {
  for (let at = view.messages.length - 1; at >= 0; at--) yield* within(view.messages[at]?.blocks ?? [])
}

function* within(blocks: Block[]): Generator<Block> {
  for (let at = blocks.length - 1; at >= 0; at--) {
    const block = blocks[at]
    if (!block) continue
    yield block
    if (block.kind === 'subagent') yield* within(block.blocks ?? [])
  }
}

/** The newest block of a component that stands in the chat, as far as the page holds messages. */
export function chatBlock(view: View | undefined, componentId: string): ComponentBlock | undefined {
  if (!view) return undefined
  for (const block of blocksOf(view))
    if (block.kind === 'component' && block.component_id === componentId)
      return block.surface === 'chat' ? block : undefined
  return undefined
}

/** A component of the session, wherever it stands. */
export function findComponent(view: View | undefined, componentId: string): Component | ComponentBlock | undefined {
  return (
    view?.components.find((one) => one.component_id === componentId && one.surface !== 'chat') ??
    chatBlock(view, componentId)
  )
}

export function interruptBlock(view: View | undefined, askId: string): InterruptBlock | undefined {
  if (!view) return undefined
  for (const block of blocksOf(view)) if (block.kind === 'interrupt' && block.ask_id === askId) return block
  return undefined
}

/** Whether a component shows what a row would say. What went wrong, and what stands elsewhere, keeps its row. */
export function isCovered(
  block: ToolBlock,
  beside: Block[],
  view: View | undefined,
  isKnown: (name: string) => boolean,
): boolean {
  const id = block.covered_by
  if (id === undefined) return false
  // The card of another session says what its call would say.
  if (beside.some((other) => other.kind === 'delegation' && other.child_session_id === id)) return true
  const near = beside.findLast((other) => other.kind === 'component' && other.component_id === id)
  const component = near?.kind === 'component' && near.surface === 'chat' ? near : chatBlock(view, id)
  if (!component || component.status === 'error') return false
  return isKnown(component.name)
}
