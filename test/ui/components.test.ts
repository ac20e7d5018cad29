/** The components of pages, in a gallery of their own under the policy of the dashboard. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { build } from 'vite'
import { loadAppFiles } from '../../src/servers/pages/app-files.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { CHROMIUM, openBrowser } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, watchFaults } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const types: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.css': 'text/css' }

/** Builds the gallery as the dashboard is built, and serves it with the header fields of the dashboard. */
async function serveGallery(t: Test, onUpload: (body: string) => void): Promise<string> {
  const outDir = temporaryFolder(t)
  await build({ configFile: 'vite.config.mjs', root: 'test/helpers/ui/gallery', base: '/', build: { outDir } })
  const headers = (await loadAppFiles('dist/ui'))?.shell.headers ?? {}
  t.match(headers, { 'Content-Security-Policy': /script-src 'self'/ })
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://gallery')
    if (pathname === '/ui/api/v1/suppressions/import') {
      onUpload(`${request.headers['content-type']} ${await text(request)}`)
      return response.writeHead(201, { 'content-type': 'application/json' }).end('{}')
    }
    if (pathname === '/message.html') return response.end('<!doctype html><title>Message</title><p>Text</p>')
    if (pathname.startsWith('/ui/api/')) return response.writeHead(404).end('{}')
    const file = pathname.startsWith('/assets/') ? pathname : '/index.html'
    response.writeHead(200, { ...headers, 'content-type': types[extname(file)] ?? 'text/html' })
    return response.end(readFileSync(join(outDir, file)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

t.test('the components work by keyboard and mouse, in both schemes and all widths', { skip }, async (t) => {
  const uploads: string[] = []
  const url = await serveGallery(t, (body) => uploads.push(body))
  const page = await (await openBrowser(t)).newPage()
  const faults = watchFaults(page)
  await page.goto(url)
  await page.locator('.chart canvas').nth(1).waitFor()
  await expectPresentable(t, { page }, 'the gallery')
  await expectEqual(t, () => page.title(), 'Gallery · Posthorn', 'hostile text stays text')

  await page.getByText('0 bytes', { exact: true }).waitFor()
  const breakable = page.locator('.fact', { hasText: 'Breakable' }).locator('dd')
  t.match(await breakable.innerHTML(), /^https:\/\/<wbr>a-host\.<wbr>example\/<wbr>path\?<wbr>x=&lt;img src=x/)

  await page.getByRole('button', { name: 'Next ›' }).click()
  await page.getByText('Row 3').waitFor()
  await page.getByRole('textbox', { name: 'Recipient' }).fill('ann')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('Row 0').waitFor()
  await expectMatch(t, () => page.url(), /\?recipient=ann$/, 'the filter is in the address, and the list begins again')
  await page.getByRole('button', { name: 'Clear' }).click()
  await expectEqual(t, () => page.getByRole('textbox', { name: 'Recipient' }).inputValue(), '')

  await page.getByRole('tab', { name: 'First' }).press('ArrowLeft')
  await expectEqual(t, () => page.getByRole('tab', { name: 'Third' }).getAttribute('aria-selected'), 'true')
  await expectMatch(t, () => page.getByRole('tabpanel').textContent(), /third/)

  const frame = page.locator('iframe')
  await frame.scrollIntoViewIfNeeded()
  await frame.contentFrame().getByText('Text').waitFor()
  t.ok(((await frame.boundingBox())?.height ?? 0) < 250, 'the frame of a short message is low')

  await expectMatch(t, () => page.locator('.fact', { hasText: 'No bytes' }).textContent(), /0 bytes$/)
  const address = page.locator('.fact', { hasText: 'Address' }).locator('dd')
  t.equal(await address.innerHTML(), 'edsger.<wbr>dijkstra@<wbr>news.<wbr>example.com', 'it breaks between its parts')

  await page.locator('.chart-plot').first().hover()
  const tip = page.locator('.chart-tip').first()
  await tip.waitFor()
  await expectMatch(t, () => tip.textContent(), /2026.*Sent \d+.*Opened \d+.*Clicked \d+/, 'the numbers at the pointer')
  await page.getByRole('tab', { name: 'First' }).hover()
  await tip.waitFor({ state: 'hidden' })

  await page.getByText('Numbers as a table').first().click()
  await expectEqual(t, () => page.getByRole('table', { name: 'Emails by hour' }).getByRole('row').count(), 25)

  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByText('A file is required.').waitFor()
  await page.getByLabel('File').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('a') })
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByText('a.csv').waitFor()
  t.match(uploads, [/^multipart\/form-data; boundary=/])
  t.match(uploads, [/name="file"; filename="a\.csv"/])

  await page.getByRole('button', { name: 'Save the message' }).click()
  await page.getByText('The server answered with status 404.').waitFor()
  await page.getByRole('button', { name: 'Close the notice' }).click()
  await expectEqual(t, () => page.getByText('The server answered with status 404.').count(), 0)
  t.same(faults, [])
})
