/** The pages of domains: add one, publish its records, verify, change, rotate, delete. */
import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type MutableZone, mutableZone } from '../helpers/dns/mutable-zone.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'
import { addDomain, closeNotices, readRecords } from '../helpers/ui/steps.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

interface World {
  readonly app: TestDaemon
  readonly zone: MutableZone
  readonly dashboard: Dashboard
}

async function openWorld(t: Test): Promise<World> {
  const zone = await mutableZone(t)
  const app = await testDaemon(t, { zone: 'dns.servers', settings: { dns: { servers: [zone.address] } } })
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, zone, dashboard }
}

t.test('a wrong name is refused beside its field', { skip }, async (t) => {
  const { dashboard } = await openWorld(t)
  const { page } = dashboard
  await addDomain(page, 'not a domain')
  const field = page.getByLabel('Domain', { exact: true })
  await page.waitForSelector('[aria-invalid="true"]')
  const described = (await field.getAttribute('aria-describedby'))?.split(' ')[0] ?? ''
  await expectMatch(t, () => page.locator(`[id="${described}"]`).textContent(), /domain/i)
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'domain', 'the field has the focus')
  await expectPresentable(t, dashboard, 'the form with an error')
  await field.fill('a.test')
  await page.getByRole('button', { name: 'Add the domain' }).click()
  await page.getByText('a.test is registered in this workspace already.').waitFor()
  await expectMatch(t, () => page.locator('.form-error').textContent(), /^a\.test is/, 'a name keeps its small letters')
  t.same(dashboard.faults, [])
})

t.test('the domain of an address that was pasted is proposed', { skip }, async (t) => {
  const { dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/domains/new')
  for (const typed of [
    ...['shop.example:8080', 'shop.example:443/cart', 'Ann <ann@shop.example>', '<https://www.shop.example/>'],
    ...['"ann@shop.example"', 'mailto:ann@shop.example?subject=Hi', 'https://ann:secret@shop.example:8443/a:b'],
  ]) {
    await page.getByRole('textbox', { name: 'Domain' }).fill(typed)
    await expectEqual(t, () => page.locator('[role="status"] strong').textContent(), 'shop.example', typed)
  }
  for (const typed of ['localhost:8080', '127.0.0.1:25', 'ann@', 'shop.example']) {
    await page.getByRole('textbox', { name: 'Domain' }).fill(typed)
    await expectEqual(t, () => page.locator('[role="status"] strong').count(), 0, typed)
  }
  await dashboard.open('/domains')
  await addDomain(page, 'https://www.shop.test/cart?id=1')
  await page.getByText('This is an address, and Posthorn needs its domain. Did you mean shop.test?').waitFor()
  await expectPresentable(t, dashboard, 'a proposed domain')
  await page.getByRole('button', { name: 'Use shop.test' }).click()
  await expectEqual(
    t,
    () => page.evaluate('document.activeElement.value'),
    'shop.test',
    'the field has it, and the focus',
  )
  await page.getByRole('button', { name: 'Add the domain' }).click()
  await page.locator('h1:focus', { hasText: 'shop.test' }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('a domain is added, verified, changed, rotated and deleted', { skip }, async (t) => {
  const { app, zone, dashboard } = await openWorld(t)
  const { page } = dashboard
  await addDomain(page, 'shop.test')
  await page.locator('h1:focus', { hasText: 'shop.test' }).waitFor()
  await expectEqual(t, () => page.title(), 'shop.test · Posthorn')
  const { records, id } = await readRecords(app, 'shop.test')
  for (const { name, value } of records) {
    await page.getByText(name, { exact: true }).first().waitFor()
    t.pass(name)
    await page.getByText(value, { exact: true }).first().waitFor()
    t.pass(value)
  }
  await page.getByText('DNS has none of these records yet.').waitFor()
  await page.getByText('Names under .test cannot be found in DNS').waitFor()
  await page.getByText('posthorn domain verify shop.test --force', { exact: true }).waitFor()
  t.equal(await page.getByText('Another value').count(), 0, 'nothing is not called another value')
  zone.set(records[0]?.name ?? '', { CNAME: 'elsewhere.test' })
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('Found: elsewhere.test').waitFor()
  const check = page.getByRole('button', { name: 'Check the records now' })
  await expectEqual(t, () => check.evaluate((button) => button === button.ownerDocument.activeElement), true)
  await page.getByText('DNS has other values in place of some of these records.').waitFor()
  await expectEqual(t, () => page.getByText('Another value', { exact: true }).count(), 1)
  await expectEqual(
    t,
    () => page.getByText('Not found', { exact: true }).count(),
    records.length + 1,
    'and MX and DMARC',
  )
  await expectPresentable(t, dashboard, 'a domain with wrong records')

  for (const { name, value } of records) zone.set(name, { CNAME: value })
  t.ok((await page.locator('.notice-bad').count()) > 0)
  await page.getByRole('link', { name: 'Domains', exact: true }).first().click()
  await expectEqual(t, () => page.locator('.notice-bad').count(), 0, 'a failure stays with its page')
  await page.getByRole('link', { name: 'shop.test' }).click()
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('The domain is verified.').waitFor()
  await expectEqual(t, () => page.getByText('Correct', { exact: true }).count(), records.length)
  await page.getByText('shop.test is ready: send your first email').waitFor()
  await expectPresentable(t, dashboard, 'what comes after the verification')

  await page.getByRole('tab', { name: 'Receiving' }).click()
  await page.getByLabel('Blocked addresses').fill('info\nsales')
  await page.getByLabel('Spam', { exact: true }).selectOption('Refuse it')
  await page.getByLabel('Unknown senders (greylisting)').selectOption('Accept unknown senders at once')
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
  await expectPresentable(t, dashboard, 'what a domain receives')
  await closeNotices(page)
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Track clicks').selectOption('On')
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
  const { json } = await app.rest('GET', `/v1/domains/${id}`)
  t.match(json(), {
    tracking: { click: true, open: null },
    blocked_addresses: ['info@shop.test', 'sales@shop.test'],
    inbound_policy: { spam: 'refuse', greylisting: 'off', dmarc: 'default' },
  })

  await page.getByRole('button', { name: 'Rotate the keys' }).click()
  await page.getByText('is being replaced').waitFor()

  await deleteDomain(t, page)
  const { status } = await app.rest('GET', `/v1/domains/${id}`)
  t.equal(status, 404)
  t.same(dashboard.faults, [])
})

t.test('records are copied, as the DNS provider wants them', { skip }, async (t) => {
  const { zone, dashboard } = await openWorld(t)
  const { page } = dashboard
  zone.set('shop.test', { NS: ['amy.ns.cloudflare.com'] })
  zone.set('news.shop.test', { MX: [[5, 'mail.old.test']] })
  await addDomain(page, 'news.shop.test')
  await page.getByText('Recognised by the name servers of shop.test.').waitFor()
  await page.getByText('Set “Proxy status” to “DNS only”').waitFor()
  await page.getByText('_dmarc.news', { exact: true }).waitFor()
  await page.getByText('Mail for news.shop.test arrives at another server now').waitFor()
  await page.getByText('Its MX record is 5 mail.old.test.').waitFor()
  const value = page.getByRole('button', { name: 'Copy the value of the CNAME record posthorn.news.shop.test' })
  const code = page.locator('.copy', { has: value }).locator('code')
  await expectEqual(t, () => code.textContent(), 'mail.service.test')
  await page.getByLabel('DNS provider').selectOption('OVHcloud')
  await expectEqual(t, () => code.textContent(), 'mail.service.test.', 'with the dot that this provider needs')
  await expectPresentable(t, dashboard, 'the hints of a provider')

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy all required records' }).click()
  await page.getByText('Copied', { exact: true }).waitFor()
  const lines = (await page.evaluate<string>('navigator.clipboard.readText()')).split('\n')
  t.equal(lines.length, 4)
  t.equal(lines[1], 'CNAME\tposthorn.news\tposthorn.news.shop.test\tmail.service.test')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download as a zone file' }).click(),
  ])
  t.equal(download.suggestedFilename(), 'news.shop.test.zone')
  const file = (await text(await download.createReadStream())).split('\n')
  t.match(file.slice(0, 3), ['$ORIGIN shop.test.', '$TTL 3600', 'posthorn.news IN CNAME mail.service.test.'])
  t.ok(file.includes('; news IN MX 10 mx.mail.service.test.'), 'what diverts mail is a comment')
  t.match(
    file.find((line) => line.includes('_dmarc')),
    /^; _dmarc\.news IN TXT "v=DMARC1; /,
  )
  t.same(dashboard.faults, [])
})

async function deleteDomain(t: Test, page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Delete shop.test' }).click()
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete the domain' })
  await expectEqual(t, () => confirm.isDisabled(), true, 'the name is not typed in yet')
  await expectPresentable(t, { page }, 'the dialog of a deletion')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete shop.test' }).click()
  await page.getByLabel('Type “shop.test” to confirm').fill('shop.test')
  await confirm.click()
  await page.getByText('shop.test is deleted.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor()
}

t.test('a domain that the operator has verified says so, and a check is no failure', { skip }, async (t) => {
  const { dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/domains')
  await page.getByText('Verified by the operator without DNS (a local trial)').waitFor()
  await page.getByRole('link', { name: 'a.test' }).click()
  await page.getByText('Verified by the operator without DNS (a local trial)').waitFor()
  await page.getByText('so it sends without these records. A real domain needs them').waitFor()
  await expectEqual(t, () => page.getByText('Not needed here', { exact: true }).count(), 5, 'three, DMARC and MX')
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('The domain stays verified, because the operator decided so.').waitFor()
  t.equal(await page.locator('.notice-bad').count(), 0)
  await expectPresentable(t, dashboard, 'a domain of a local trial')
  t.same(dashboard.faults, [])
})

t.test('the list shows the domains of the workspace', { skip }, async (t) => {
  const { dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/domains')
  await page.getByRole('link', { name: 'a.test' }).waitFor()
  await expectPresentable(t, dashboard, 'the list of domains')
  t.same(dashboard.faults, [])
})

t.test('a name with an umlaut is shown as it is written, with its form in DNS', { skip }, async (t) => {
  const app = await testDaemon(t)
  const { domain } = (await app.rest('POST', '/v1/domains', { body: { domain: 'xn--mller-shop-9db.test' } })).json<{
    readonly domain: string
  }>()
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/domains')
  await page.getByRole('rowheader', { name: domain }).getByRole('link', { name: 'müller-shop.test' }).click()
  await page.getByRole('heading', { level: 1, name: 'müller-shop.test' }).waitFor()
  await page.getByText(`In DNS and in programs: ${domain}`).waitFor()
  await expectPresentable(t, dashboard, 'a domain with an umlaut')
  t.same(dashboard.faults, [])
})
