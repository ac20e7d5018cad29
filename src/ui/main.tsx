/** Starts the dashboard. */
import { render } from 'preact'
import { App } from './app.tsx'
import { readSession, readSessionWhenShown } from './session/sign-in.ts'
import { preloadPage } from './shell/preload-page.ts'
import { followTheme } from './shell/theme.ts'
import './style/base.css'
import './style/shell.css'
import './style/components.css'
import './style/lists.css'

void readSession()
preloadPage(window.location.pathname)
readSessionWhenShown()
followTheme()
const place = document.getElementById('app')
if (place !== null) render(<App />, place)
