/** Sets the color scheme before the first paint, and follows that of the system unless the user has chosen one. */
;(() => {
  const systemDark = matchMedia('(prefers-color-scheme: dark)')

  function readChosen(): string | null {
    try {
      return localStorage.getItem('posthorn.theme')
    } catch {
      // Without storage, the scheme of the system counts.
      return null
    }
  }

  function apply(): void {
    const chosen = readChosen()
    const isDark = chosen === 'dark' || (chosen !== 'light' && systemDark.matches)
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
  }

  apply()
  systemDark.addEventListener('change', apply)
})()
