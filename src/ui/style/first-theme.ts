/** Sets the color scheme before the first paint: the one that the user has chosen, or that of the system. */
;(() => {
  const isSystemDark = matchMedia('(prefers-color-scheme: dark)').matches
  let chosen: string | null = null
  try {
    chosen = localStorage.getItem('posthorn.theme')
  } catch {
    // Without storage, the scheme of the system counts.
  }
  const isDark = chosen === 'dark' || (chosen !== 'light' && isSystemDark)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
})()
