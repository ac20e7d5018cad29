/** The names of browsers, and no text of whoever sends the field. */
import t from 'tap'
import { describeBrowser } from '../../../../src/workspaces/accounts/sessions/browser-name.js'

const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

for (const [agent, name] of [
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}`, 'Chrome on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Edg/140.0.0.0`, 'Edge on Windows'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${CHROME} OPR/120.0.0.0`, 'Opera on macOS'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${CHROME}`, 'Chrome on Android'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  ['Firefox/1', 'Firefox'],
  ['Visit http://evil.test now', 'Unknown browser'],
  ['', 'Unknown browser'],
] as const) {
  t.equal(describeBrowser(agent), name)
}
