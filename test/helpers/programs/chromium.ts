/**
 * Debian's Chromium, driven by playwright-core, as the web mail and browser of a recipient. Its build without windows takes
 * half the CPU of the other one.
 */
import { type Browser, type BrowserContext, type BrowserServer, chromium } from 'playwright-core'
import type { Test } from 'tap'

export const CHROMIUM = '/usr/bin/chromium-headless-shell'

/** As a recipient has it: the browser's own name says that a program drives it. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

/** It asks no other host than those of the pages. It paints without a graphics card, in its own process. */
const launchOptions = {
  executablePath: CHROMIUM,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--in-process-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
}

/** A browser that several test files use at a time, each with contexts of its own. */
export function serveBrowser(): Promise<BrowserServer> {
  return chromium.launchServer({ ...launchOptions, host: '127.0.0.1' })
}

/** It accepts certificates of any issuer. */
export async function openBrowser(t: Test): Promise<BrowserContext> {
  const browser = await findBrowser()
  t.teardown(() => browser.close())
  return browser.newContext({ ignoreHTTPSErrors: true, userAgent: USER_AGENT })
}

/** The shared browser of a run of many test files, or one for this test alone. */
async function findBrowser(): Promise<Browser> {
  const shared = process.env['POSTHORN_TEST_BROWSER']
  if (shared === undefined) return chromium.launch(launchOptions)
  return chromium.connect(shared).catch(() => chromium.launch(launchOptions))
}
