/**
 * The dashboard of a test daemon in Chromium.
 *
 *     const dashboard = await openDashboard(t, app)
 *     await dashboard.signIn()
 *     await dashboard.open('/domains')
 *     await expectPresentable(t, dashboard, 'the list of domains')
 *     t.same(dashboard.faults, [])
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { TestDaemon } from '../daemon/test-daemon.js'
import { givePassword, PASSWORD } from '../http/browser-client.js'
import { openBrowser } from '../programs/chromium.js'
import { waitUntil } from '../wait-until.js'

export interface Dashboard {
  readonly context: BrowserContext
  readonly page: Page
  /** What no page may cause: uncaught errors, errors in the console, violations of the Content-Security-Policy. */
  readonly faults: readonly string[]
  /** Loads a page by its path below /ui, and waits for its heading. */
  readonly open: (path: string) => Promise<void>
  readonly signIn: (email?: string) => Promise<void>
}

const OWNER = 'owner@a.test'

/**
 * Without compression, which costs a new daemon a second of CPU for the files that a page loads. `isCompressed`: as browsers
 * ask for them.
 */
export async function openDashboard(t: Test, app: TestDaemon, isCompressed = false): Promise<Dashboard> {
  const context = await openBrowser(t)
  if (!isCompressed) await context.setExtraHTTPHeaders({ 'accept-encoding': 'identity' })
  const page = await context.newPage()
  const faults = watchFaults(page)
  await context.addInitScript(
    "document.addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.violatedDirective, e.blockedURI))",
  )
  const endpoint = app.daemon.api.find(({ kind }) => kind !== 'unix')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no port of the interface')
  const base = `https://127.0.0.1:${endpoint.port}/ui`
  const open = async (path: string): Promise<void> => {
    await page.goto(`${base}${path}`)
    await page.waitForSelector('h1')
  }
  // By a request of the browser: one page less than with the form, which has a test of its own.
  const signIn = async (email = OWNER): Promise<void> => {
    await givePassword(app, email)
    const headers = { 'sec-fetch-site': 'same-origin' }
    const answer = await context.request.post(`${base}/api/session`, { data: { email, password: PASSWORD }, headers })
    if (!answer.ok()) throw new Error(`the sign-in was answered ${answer.status()}: ${await answer.text()}`)
    await open('/')
    await page.getByRole('button', { name: 'Account: ' }).waitFor()
  }
  return { context, page, faults, open, signIn }
}

/** Waits until the table of the page has so many rows. */
export async function waitForRows({ page }: Pick<Dashboard, 'page'>, count: number): Promise<void> {
  const rows = page.locator('tbody tr')
  try {
    await waitUntil(`${count} rows`, async () => (await rows.count()) === count)
  } catch (error) {
    const shown = await page.locator('body').textContent()
    throw new Error(`there are ${await rows.count()} rows instead of ${count}: ${shown}`, { cause: error })
  }
}

/** Refused requests are part of the tests: the console names each with its status. */
const REFUSED = /^Failed to load resource: the server responded with a status of 4\d\d/

export function watchFaults(page: Page): readonly string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !REFUSED.test(message.text())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  return faults
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const ALL_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Those that look at colors: what the others look at is the same in both schemes. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']
/** Among them: near the narrowest with rows of tables, and the narrowest with the navigation beside the page. */
const WIDTHS = [360, 768, 1089, 1440, 1920]
const CHECKS = [
  { colorScheme: 'light', runOnly: ALL_RULES },
  { colorScheme: 'dark', runOnly: { type: 'rule', values: COLOR_RULES } },
] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** Past Playwright, which runs it by `eval`: so the browser compiles it once for all pages of a tab. */
async function loadAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axeSource })
  await session.detach()
}

/** In the light scheme axe-core finds nothing, in the dark one nothing that is about colors, and no width makes the page scroll sideways. */
export async function expectPresentable(t: Test, { page }: Pick<Dashboard, 'page'>, what: string): Promise<void> {
  for (const { colorScheme, runOnly } of CHECKS) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const shown = 'document.documentElement.dataset.theme'
    await waitUntil(`the ${colorScheme} scheme`, async () =>
      [undefined, colorScheme].includes(await page.evaluate(shown)),
    )
    if (!(await page.evaluate('"axe" in window'))) await loadAxe(page)
    const options = { runOnly, resultTypes: ['violations'] }
    const script = `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`
    const violations = await page.evaluate<readonly Violation[]>(script)
    const found = violations.map(({ id, nodes }) => [
      id,
      nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    ])
    t.same(found, [], `axe-core finds nothing: ${what}, ${colorScheme}`)
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    t.ok(excess <= 0, `fits into ${width} pixels: ${what}`)
  }
}
