/** Filters of lists: on narrow screens behind a button with their number. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('filters are folded on narrow screens, and the focus stays with them', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.setViewportSize({ width: 360, height: 740 })
  for (const path of ['/events', '/emails', '/metrics']) {
    await dashboard.open(path)
    const toggle = page.getByRole('button', { name: 'Filters', exact: true })
    await toggle.waitFor()
    t.equal(await page.getByRole('button', { name: 'Filter', exact: true }).isVisible(), false, path)
    await toggle.press('Enter')
    await page.getByRole('button', { name: 'Filter', exact: true }).waitFor()
  }
  await dashboard.open('/events')
  await page.getByRole('button', { name: 'Filters', exact: true }).click()
  await page.getByLabel('Recipient').fill('bob@b.test')
  await page.getByLabel('What happened').selectOption('Email delivered')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  const used = page.getByRole('button', { name: 'Filters (2)' })
  await used.waitFor()
  await expectEqual(t, () => used.evaluate((button) => button === button.ownerDocument.activeElement), true)
  t.equal(await page.getByLabel('Recipient').isVisible(), false, 'folded again')
  await used.click()
  await expectPresentable(t, dashboard, 'open filters')

  await page.setViewportSize({ width: 1280, height: 860 })
  await dashboard.open('/events?recipient=bob@b.test')
  t.equal(await page.getByRole('button', { name: /^Filters/ }).isVisible(), false, 'a wide screen has room')
  await page.getByLabel('Recipient').fill('ann@b.test')
  await page.getByLabel('Recipient').press('Enter')
  await expectEqual(t, async () => new URL(page.url()).searchParams.get('recipient'), 'ann@b.test')
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'recipient', 'it stays in the field')
  await page.getByRole('button', { name: 'Clear' }).click()
  await expectEqual(t, () => page.evaluate('document.activeElement.textContent'), 'Filter', 'the focus is not lost')
  t.same(dashboard.faults, [])
})

t.test('the time of metrics is a number of days, or two days', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/metrics')
  t.equal(await page.getByLabel('First day').count(), 0)
  await page.getByLabel('Time').selectOption('Between two days')
  await page.getByLabel('First day').fill('2026-01-05')
  await page.getByLabel('Last day').fill('2026-01-06')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await expectEqual(t, async () => new URL(page.url()).searchParams.get('to'), '2026-01-06')
  await expectEqual(t, () => page.getByLabel('First day').inputValue(), '2026-01-05')
  await page.getByLabel('Time').selectOption('Last 7 days')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await expectEqual(t, async () => new URL(page.url()).search, '?days=7', 'the days are gone')
  t.same(dashboard.faults, [])
})
