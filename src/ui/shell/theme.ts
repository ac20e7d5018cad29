/**
 * The color scheme that the user has chosen in this browser. `first-theme.ts` sets it before the first paint; this sets it
 * when the choice or the scheme of the system changes.
 */
import { signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

/** `first-theme.ts` reads it too. */
const KEY = 'posthorn.theme'

export const theme = signal<Theme>(readTheme())

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  try {
    if (chosen === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, chosen)
  } catch {
    // Without storage, the choice lasts until the page is loaded again.
  }
  showTheme()
}

/** Follows other tabs of the browser too. */
export function followTheme(): void {
  systemScheme.addEventListener('change', showTheme)
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    theme.value = readTheme()
    showTheme()
  })
}

const systemScheme = matchMedia('(prefers-color-scheme: dark)')

function showTheme(): void {
  const isDark = theme.value === 'dark' || (theme.value === 'system' && systemScheme.matches)
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light'
}

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY)
    return themes.find((one) => one === stored) ?? 'system'
  } catch {
    return 'system'
  }
}
