// How much room there is, by the same numbers as in the style sheets.

import { MediaQuery } from 'svelte/reactivity'
import { prefs } from './prefs.svelte'
import { router } from './route.svelte'

const phone = new MediaQuery('max-width: 760px')
const tight = new MediaQuery('max-width: 1100px')

class Screen {
  /** One column, with a bar beneath it. */
  get isPhone(): boolean {
    return phone.current
  }

  /** No room for two things beside each other. */
  get isTight(): boolean {
    return tight.current
  }

  /** Whether an open panel leaves no room for the whole column of sessions. */
  get isCrowded(): boolean {
    return tight.current && prefs.panel !== undefined && router.session !== undefined
  }

  /** Whether the column of sessions shows marks only. */
  get isNarrow(): boolean {
    return !this.isPhone && (prefs.narrow || this.isCrowded)
  }

  /** Whether something can be opened there without covering what is being read. */
  hasRoomFor(place: string): boolean {
    return place === 'overlay' || (!this.isPhone && (place !== 'canvas' || !tight.current))
  }

  /** The column takes its room back from the panel where there is not enough for both. */
  setNarrow(narrow: boolean): void {
    if (!narrow && this.isCrowded) prefs.showPanel(undefined)
    prefs.setNarrow(narrow)
  }
}

export const screen = new Screen()
