// What a person chose for this browser. Kept in local storage, each under its own name.

import { load, store } from './storage'

export type Theme = 'system' | 'light' | 'dark'
/** A component's tab is of one session only; elsewhere it is the first tab. */
export type PanelTab = 'plan' | 'files' | 'inspector' | `component ${string}`

const storedTheme = document.documentElement.dataset['theme']

class Prefs {
  theme = $state<Theme>(storedTheme === 'light' || storedTheme === 'dark' ? storedTheme : 'system')
  narrow = $state(load('narrow', false))
  panel = $state<PanelTab | undefined>(load<PanelTab | undefined>('panel', undefined))
  /** This browser tells of what needs somebody; with `push` the daemon reaches it by itself, and knows it by this name. */
  notify = $state(load('notify', false))
  push = $state(load('push', false))
  device = $state(load<string | undefined>('device', undefined))

  setTheme(theme: Theme): void {
    this.theme = theme
    // Stored without quotes: the script that runs before the first paint reads it as it is.
    if (theme === 'system') {
      delete document.documentElement.dataset['theme']
      localStorage.removeItem('turnloom.theme')
    } else {
      document.documentElement.dataset['theme'] = theme
      localStorage.setItem('turnloom.theme', theme)
    }
  }

  nextTheme(): void {
    const order: Theme[] = ['system', 'light', 'dark']
    this.setTheme(order[(order.indexOf(this.theme) + 1) % order.length] ?? 'system')
  }

  setNarrow(narrow: boolean): void {
    this.narrow = narrow
    store('narrow', narrow)
  }

  togglePanel(tab: PanelTab): void {
    this.panel = this.panel === tab ? undefined : tab
    store('panel', this.panel)
  }

  showPanel(tab: PanelTab | undefined): void {
    this.panel = tab
    store('panel', tab)
  }

  setNotify(notify: boolean): void {
    this.notify = notify
    store('notify', notify)
  }

  setPush(push: boolean): void {
    this.push = push
    store('push', push)
  }

  setDevice(device: string | undefined): void {
    this.device = device
    store('device', device)
  }
}

export const prefs = new Prefs()
