// The colours, fonts and sizes of this page, by the names that the standard for views gives them. Not here: which of them a view uses.

import { MediaQuery } from 'svelte/reactivity'
import { prefs } from '../prefs.svelte'

const dark = new MediaQuery('prefers-color-scheme: dark')

export const themeNow = () => (prefs.theme !== 'system' ? prefs.theme : dark.current ? 'dark' : 'light')

/** Names of the standard, and the token of this page that each is. */
const COLOURS: Record<string, string> = {
  '--color-background-primary': '--raised',
  '--color-background-secondary': '--surface',
  '--color-background-tertiary': '--hover',
  '--color-background-inverse': '--text',
  '--color-background-info': '--accent-soft',
  '--color-background-danger': '--bad-soft',
  '--color-background-success': '--add',
  '--color-background-warning': '--risk',
  '--color-background-disabled': '--surface',
  '--color-text-primary': '--text',
  '--color-text-secondary': '--muted',
  '--color-text-tertiary': '--muted',
  '--color-text-inverse': '--bg',
  '--color-text-info': '--accent',
  '--color-text-danger': '--bad',
  '--color-text-success': '--ok',
  '--color-text-warning': '--warn',
  '--color-text-disabled': '--muted',
  '--color-border-primary': '--line-strong',
  '--color-border-secondary': '--line',
  '--color-border-tertiary': '--line',
  '--color-border-info': '--accent',
  '--color-border-danger': '--bad',
  '--color-border-success': '--ok',
  '--color-border-warning': '--warn',
  '--color-ring-primary': '--accent',
}

const SIZES: Record<string, string> = {
  '--font-weight-normal': '400',
  '--font-weight-semibold': '600',
  '--font-weight-bold': '700',
  '--font-text-xs-size': '12px',
  '--font-text-sm-size': '13px',
  '--font-text-md-size': '15px',
  '--font-text-lg-size': '18px',
  '--font-heading-sm-size': '15px',
  '--font-heading-md-size': '18px',
  '--font-heading-lg-size': '24px',
  '--font-text-sm-line-height': '1.5',
  '--font-text-md-line-height': '1.6',
  '--border-radius-sm': '4px',
  '--border-radius-md': '6px',
  '--border-radius-lg': '8px',
  '--border-radius-full': '9999px',
  '--border-width-regular': '1px',
}

/** As they are now: a view knows nothing of the two values of each token, so it is told the one that counts. */
export function styleVariables(): Record<string, string> {
  const probe = document.createElement('span')
  probe.hidden = true
  document.body.append(probe)
  const style = getComputedStyle(probe)
  const colours = Object.entries(COLOURS).map(([name, token]) => {
    probe.style.color = `var(${token})`
    return [name, style.color] as const
  })
  const fonts = [
    ['--font-sans', style.getPropertyValue('--sans').trim()],
    ['--font-mono', style.getPropertyValue('--mono').trim()],
  ] as const
  const variables = Object.fromEntries([...colours, ...fonts, ...Object.entries(SIZES)])
  probe.remove()
  return variables
}
