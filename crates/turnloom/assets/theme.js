try {
  const theme = localStorage.getItem('turnloom.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; then the system decides.
}
