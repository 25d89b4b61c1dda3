// The shortcuts: one table for the handler, the help sheet and the palette.

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
      ['/', 'Search sessions'],
    ],
  ],
  [
    'Composer',
    [
      ['Enter', 'Send'],
      ['Shift Enter', 'New line'],
      [`${MOD} Enter`, 'Send the other way: steer instead of queue, or queue instead of steer'],
      ['↑', 'What you sent before, when the composer is empty'],
      ['Esc', 'Stop the running turn'],
    ],
  ],
  [
    'Asks',
    [
      ['Enter', 'Allow once'],
      ['Backspace', 'Reject'],
      ['1 to 9', 'Choose an option'],
    ],
  ],
]

/** Whether a key press belongs to a field that a person types into. */
export function inField(event: KeyboardEvent): boolean {
  const target = event.target
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Whether all of something is on the screen: nobody answers by key what they do not see. */
export function isSeen(element: HTMLElement | undefined): boolean {
  const frame = element?.closest('.scroller')?.getBoundingClientRect()
  const box = element?.getBoundingClientRect()
  if (!frame || !box) return false
  return box.bottom <= frame.bottom + 1 && (box.top >= frame.top || box.height > frame.height)
}
