/** Debian's Chromium, driven by playwright-core, as the web mail and browser of a recipient. */
import { type BrowserContext, chromium } from 'playwright-core'
import type { Test } from 'tap'

export const CHROMIUM = '/usr/bin/chromium'

/** As a recipient has it: the browser's own name says that a program drives it. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** It accepts certificates of any issuer, and asks no other host than those of the pages. */
export async function openBrowser(t: Test): Promise<BrowserContext> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  t.teardown(() => browser.close())
  return browser.newContext({ ignoreHTTPSErrors: true, userAgent: USER_AGENT })
}
