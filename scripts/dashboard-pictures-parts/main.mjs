// Starts the quickstart in a temporary folder, fills it with sample data, signs in, and takes the pictures.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { fillSandbox } from './sample-data.mjs'

const PASSWORD = 'correct horse battery'
const WIDTHS = [360, 768, 1440]

const { values, positionals } = parseArgs({
  options: { readme: { type: 'boolean', default: false }, only: { type: 'string', multiple: true, default: [''] } },
  allowPositionals: true,
})
const [target] = positionals
if (target === undefined) throw new Error('dashboard-pictures: name a folder for the pictures')
mkdirSync(resolve(target), { recursive: true })

const folder = mkdtempSync(join(tmpdir(), 'posthorn-pictures-'))
const base = 20_000 + (process.pid % 10_000)
const sandbox = spawn(
  process.execPath,
  ['dist/src/operations/sandbox/main.js', '--data', folder, '--port-base', String(base)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const link = await readPasswordLink()
  const ids = await fillSandbox({ folder, apiPort: base + 443, mxPort: base + 26 })
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  if (!values.readme) {
    for (const [name, address] of frontPages(link)) await takePictures(page, name, () => visitAfresh(page, address))
  }
  await signIn(page, link)
  for (const [name, path] of pagesOf(ids)) {
    await takePictures(page, name, () => page.goto(`https://127.0.0.1:${base + 443}/ui${path}`))
  }
} finally {
  await browser.close()
  sandbox.kill('SIGTERM')
  await once(sandbox, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

/** The line with the link that sets the owner's password. The output is read to the end: who closes it ends the program. */
function readPasswordLink() {
  return new Promise((found, failed) => {
    let text = ''
    sandbox.stdout.on('data', (piece) => {
      text += piece
      const link = /https:\S+\/ui\/set-password\S+/.exec(text)
      if (link !== null && text.includes('Serving until')) found(link[0])
    })
    sandbox.on('exit', () => failed(new Error(`the quickstart ended: ${text}`)))
  })
}

/** The pages of people who have not signed in. */
function frontPages(link) {
  const ui = `https://127.0.0.1:${base + 443}/ui`
  return [
    ['sign-in', `${ui}/`],
    ['forgotten-password', `${ui}/forgotten-password`],
    ['set-password', link],
    ['set-password-old', `${ui}/set-password#token=old`],
  ]
}

/** The page loads again, although its address differs after the `#` alone. */
async function visitAfresh(page, address) {
  await page.goto('about:blank')
  await page.goto(address)
}

async function signIn(page, link) {
  await visitAfresh(page, link)
  await page.locator('input[type=password]').first().waitFor()
  for (const field of await page.locator('input[type=password]').all()) await field.fill(PASSWORD)
  await page.getByRole('button').first().click()
  await page.getByRole('button', { name: 'Account: ' }).waitFor()
}

function pagesOf(ids) {
  const readme = [
    ['overview', '/overview'],
    ['email', `/emails/${ids.email}`],
  ]
  const others = [
    ['emails', '/emails'],
    ['email-bounced', `/emails/${ids.bounced}`],
    ['email-new', '/emails/new'],
    ['metrics', '/metrics'],
    ['links', '/links'],
    ['domains', '/domains'],
    ['domain', `/domains/${ids.domain}`],
    ['domain-new', '/domains/new'],
    ['breakers', '/domains/breakers'],
    ['inbound', '/inbound'],
    ['inbound-message', `/inbound/${ids.inbound}`],
    ['audiences', '/audiences'],
    ['audience', `/audiences/${ids.audience}`],
    ['templates', '/templates'],
    ['template', `/templates/${ids.template}`],
    ['broadcasts', '/broadcasts'],
    ['broadcast', `/broadcasts/${ids.broadcast}`],
    ['broadcast-recipients', `/broadcasts/${ids.broadcast}/recipients`],
    ['broadcast-draft', `/broadcasts/${ids.draft}`],
    ['suppressions', '/suppressions'],
    ['suppression-new', '/suppressions/new'],
    ['suppression-import', '/suppressions/import'],
    ['files', '/files'],
    ['events', '/events'],
    ['exports', '/exports'],
    ['webhooks', '/webhooks'],
    ['webhook-new', '/webhooks/new'],
    ['webhook', `/webhooks/${ids.webhook}`],
    ['webhook-settings', `/webhooks/${ids.webhook}?tab=settings`],
    ['keys', '/keys'],
    ['key-new', '/keys/new'],
    ['members', '/members'],
    ['audit-log', '/audit-log'],
    ['usage', '/usage'],
    ['workspace', '/workspace'],
    ['workspace-new', '/workspace/new'],
    ['account', '/account'],
    ['workspaces', '/operator/workspaces'],
    ['workspace-operated', `/operator/workspaces/${ids.workspace}`],
    ['workspace-new-operated', '/operator/workspaces/new'],
    ['queue', '/operator/queue'],
    ['queue-entries', '/operator/queue?tab=entries'],
    ['queue-paces', '/operator/queue?tab=paces'],
    ['queue-rules', '/operator/queue?tab=rules'],
    ['service-suppressions', '/operator/suppressions'],
    ['sms-holds', '/operator/sms-holds'],
    ['health', '/operator/health'],
    ['spam', '/operator/spam'],
    ['log', '/operator/log'],
    ['docs', '/docs'],
    ['docs-resource', '/docs/webhooks'],
    ['docs-search', '/docs?q=suppression'],
    ['try', '/try/post_emails'],
    ['help', '/help'],
    ['help-page', '/help/webhooks'],
    ['not-found', '/nowhere'],
  ]
  return (values.readme ? readme : [...readme, ...others]).filter(([name]) => isWanted(name))
}

function isWanted(name) {
  return values.only.some((text) => name.includes(text))
}

/** `show` loads the page. Full height, so that nothing is missed; for the README what fits a window. */
async function takePictures(page, name, show) {
  if (!isWanted(name)) return
  const widths = values.readme ? [1280] : WIDTHS
  for (const colorScheme of values.readme ? ['light'] : ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 860 })
      await show()
      await page.waitForSelector('h1')
      await page.waitForLoadState('networkidle')
      await showFrames(page, width)
      await sleep(200)
      const path = join(resolve(target), values.readme ? `${name}.png` : `${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, fullPage: !values.readme })
    }
  }
}

/** Chromium paints only frames in the window, so the window becomes as high as a page with a frame. */
async function showFrames(page, width) {
  const height = await page.evaluate(() =>
    document.querySelector('iframe') === null ? 0 : document.documentElement.scrollHeight,
  )
  if (height === 0 || values.readme) return
  await page.setViewportSize({ width, height })
  await page.waitForLoadState('networkidle')
}
