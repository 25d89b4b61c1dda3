// Tells a person who looks elsewhere that a session needs them: the title and the icon. Notifications are in `devices/`.

const BASE = '/favicon.svg'

function icon(): HTMLLinkElement | null {
  return document.querySelector('link[rel="icon"]')
}

function badge(count: number): string {
  const text = count > 9 ? '9+' : String(count)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4451c9"/><text x="16" y="23.5" font-family="system-ui,sans-serif" font-size="${text.length > 1 ? 17 : 21}" font-weight="700" fill="#fff" text-anchor="middle">${text}</text></svg>`
  return 'data:image/svg+xml,' + encodeURIComponent(svg)
}

export function showTitle(title: string | undefined, count: number): void {
  document.title = `${count > 0 ? `(${count}) ` : ''}${title ? `${title} · ` : ''}Turnloom`
  const link = icon()
  const href = count > 0 ? badge(count) : BASE
  if (link && link.getAttribute('href') !== href) link.setAttribute('href', href)
}
