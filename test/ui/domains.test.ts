/** The pages of domains: add one, publish its records, verify, change, rotate, delete. */
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
  zone.set(records[0]?.name ?? '', { CNAME: 'elsewhere.test' })
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('elsewhere.test').waitFor()
  await page.getByText('Missing or wrong').first().waitFor()
  t.pass('it is shown')
  await expectPresentable(t, dashboard, 'a domain with wrong records')

  for (const { name, value } of records) zone.set(name, { CNAME: value })
  await closeNotices(page)
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('The domain is verified.').waitFor()
  await expectEqual(t, () => page.getByText('Correct', { exact: true }).count(), records.length)

  await page.getByLabel('Track clicks').selectOption('On')
  await page.getByLabel('Blocked addresses').fill('info\nsales')
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
  const { json } = await app.rest('GET', `/v1/domains/${id}`)
  t.match(json(), { tracking: { click: true, open: null }, blocked_addresses: ['info@shop.test', 'sales@shop.test'] })

  await page.getByRole('button', { name: 'Rotate the keys' }).click()
  await page.getByText('is being replaced').waitFor()

  await deleteDomain(t, page)
  const { status } = await app.rest('GET', `/v1/domains/${id}`)
  t.equal(status, 404)
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

t.test('the list shows the domains of the workspace', { skip }, async (t) => {
  const { dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/domains')
  await page.getByRole('link', { name: 'a.test' }).waitFor()
  await expectPresentable(t, dashboard, 'the list of domains')
  t.same(dashboard.faults, [])
})
