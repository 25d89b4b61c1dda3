// The shortcuts: one table for the handler, the help sheet and the palette.

import { isField, isFree } from './focus.svelte'
import { layers } from './layers.svelte'

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)
export const MOD = isMac ? '⌘' : 'Ctrl'

export const SHORTCUTS: [string, [keys: string, what: string][]][] = [
  [
    'Everywhere',
    [
      [`${MOD} K`, 'Command palette'],
      ['?', 'This sheet'],
      [`${MOD} B`, 'Sessions column'],
      [`${MOD} .`, 'Inspector'],
      ['Alt N', 'New session'],
      ['Alt ↑ / Alt ↓', 'Previous or next session'],
      ['Alt 1 to 9', 'Go to a tab'],
      ['Alt PgUp / Alt PgDn', 'Previous or next tab'],
      ['Alt W', 'Close the tab'],
      ['Alt A', 'Needs you'],
      ['Alt T', 'Everything that runs'],
      ['/', 'Search sessions'],
      ['Esc', 'Close what was opened last'],
    ],
  ],
  ['Conversation and composer', [['Esc', 'Stop the running turn, when nothing else is open']]],
  [
    'Composer',
    [
      ['Enter', 'Send'],
      ['Shift Enter', 'New line'],
      [`${MOD} Enter`, 'Send the other way: steer instead of queue, or queue instead of steer'],
      ['↑', 'What you sent before, when the composer is empty'],
    ],
  ],
  [
    'Asks, when no field and no button has the focus',
    [
      ['Enter', 'Allow once'],
      ['Backspace', 'Reject'],
      ['1 to 9', 'Choose an option'],
    ],
  ],
  [
    'Needs you, on an item',
    [
      ['↑ / ↓', 'Previous or next item'],
      ['Enter', 'Open its session'],
      ['E', 'Mark as read'],
      ['S', 'Snooze for an hour, or bring back'],
      ['Z', 'Undo'],
    ],
  ],
]

/** Whether a key press belongs to a field that a person types into. */
export function inField(event: KeyboardEvent): boolean {
  return event.target instanceof Element && isField(event.target)
}

/** Whether a key press belongs to a button, which it presses. */
export function onButton(event: KeyboardEvent): boolean {
  return event.target instanceof Element && event.target.closest('button') !== null
}

/**
 * Whether a key press may answer an ask: nobody types, no control takes it, and nothing is open above the page. A key that is held answers one ask,
 * not also the next one.
 */
export function isForAsk(event: KeyboardEvent): boolean {
  const modified = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey
  return !modified && !event.repeat && !event.defaultPrevented && !layers.any && isFree(document.activeElement)
}

/** Whether all of something is on the screen. */
export function isSeen(element: HTMLElement | undefined): boolean {
  const frame = element?.closest('.scroller')?.getBoundingClientRect()
  const box = element?.getBoundingClientRect()
  if (!frame || !box) return false
  return box.bottom <= frame.bottom + 1 && (box.top >= frame.top || box.height > frame.height)
}
