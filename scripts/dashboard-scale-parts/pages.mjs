// The dashboard in Chromium: how long each page needs until its data is there, when it is loaded as the first one, and
// when it is opened from another one.
import { chromium } from 'playwright-core'

const QUIET = 150
const TIMEOUT = 60_000

/** Runs in the page before its own code: notes when the page shows its data, and nothing is awaited any more. */
const watchData = `
  window.scale = { ready: null, ask: null }
  const isComplete = () => {
    const main = document.querySelector('main')
    if (main === null || main.querySelector('h1') === null || main.querySelector('.placeholder') !== null) return false
    if (document.title.startsWith('Page not found')) return false
    return ![...main.querySelectorAll('dd')].some((value) => value.textContent.trim() === '…')
  }
  new MutationObserver(() => {
    if (!isComplete()) window.scale.ready = null
    else window.scale.ready ??= performance.now()
  }).observe(document, { subtree: true, childList: true, characterData: true })`

export async function openDashboard({ port, email, password }) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  // Without the Content-Security-Policy: waiting for a condition evaluates it in the page.
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    bypassCSP: true,
    viewport: { width: 1280, height: 900 },
  })
  await context.addInitScript(watchData)
  const base = `https://localhost:${port}/ui`
  const page = await context.newPage()
  await page.goto(`${base}/`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Account: ' }).waitFor()
  return { page, base, close: () => browser.close() }
}

async function readMeasure(page) {
  const isQuiet = `window.scale.ready !== null && performance.now() - window.scale.ready > ${QUIET}`
  await page.waitForFunction(isQuiet, null, { timeout: TIMEOUT, polling: 20 })
  const fault = await page.locator('main .fault').allTextContents()
  if (fault.length > 0) throw new Error(`${page.url()}: ${fault.join(' ')}`)
  return page.evaluate(() => {
    const requests = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/ui/api/'))
    return {
      ready: window.scale.ready,
      requests: requests.length,
      slowest: Math.max(0, ...requests.map(({ duration }) => duration)),
    }
  })
}

/** From the request for the document on, with all files of the dashboard in no cache. */
export async function loadPage({ page, base }, path) {
  await page.goto('about:blank')
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.clearBrowserCache')
  await session.detach()
  await page.goto(`${base}${path}`)
  const { ready, requests, slowest } = await readMeasure(page)
  return { ready, requests, slowest }
}

/** From the click on, with the code of the page in the cache. */
export async function showPage({ page }, path) {
  await page.evaluate(() => history.pushState(null, '', '/ui/nothing-here'))
  await page.waitForFunction(() => document.title.startsWith('Page not found'))
  const begun = await page.evaluate((target) => {
    performance.clearResourceTimings()
    window.scale.ready = null
    const now = performance.now()
    history.pushState(null, '', target)
    return now
  }, `/ui${path}`)
  const { ready, requests, slowest } = await readMeasure(page)
  return { ready: ready - begun, requests, slowest }
}
