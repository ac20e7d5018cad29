/** The operator's queue: acts on the mail for a provider, and hold rules. */

import t from 'tap'
import { rowOf } from '../helpers/database/rows.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { expectText, HOSTILE, listHolds, openOperatorWorld } from '../helpers/ui/operator-world.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('the operator holds and releases the mail for a provider', { skip }, async (t) => {
  const { app, dashboard } = await openOperatorWorld(t)
  const { page } = dashboard
  const to = ['one@google.com', 'two@google.com', 'three@b.test']
  await app.waitUntilAttempted(await app.submitAccepted({ to }))
  await page.getByRole('link', { name: 'Queue', exact: true }).click()
  await page.getByRole('tab', { name: 'By provider' }).click()
  const rowOf = (name: string) => page.getByRole('row', { name })
  await rowOf('Google').getByText(HOSTILE).waitFor()
  await rowOf('No known provider').waitFor()
  await expectEqual(t, () => page.getByRole('button', { name: 'Release: Google' }).count(), 0, 'nothing is held')
  await expectPresentable(t, dashboard, 'the queue by provider')

  await page.getByRole('button', { name: 'Hold: Google' }).click()
  await page.getByRole('dialog').getByText('Matching: google.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Hold all' }).click()
  await expectText(page, 'Hold all: completed')
  const held = async (): Promise<unknown[]> =>
    (await app.rows<{ recipient: string }>('select recipient from queue where held = 1 order by recipient')).map(
      ({ recipient }) => recipient,
    )
  t.same(await held(), ['one@google.com', 'two@google.com'])
  await rowOf('Google').getByRole('link', { name: 'Held' }).click()
  await page.getByRole('button', { name: 'Release one@google.com' }).waitFor()
  await expectEqual(
    t,
    () => page.getByRole('rowheader', { name: 'three@b.test' }).count(),
    0,
    'those of the provider and reason',
  )
  await expectEqual(t, () => page.getByLabel('Provider').inputValue(), 'google')
  await expectEqual(t, () => page.getByLabel('Reason').inputValue(), 'held')
  await expectPresentable(t, dashboard, 'entries of a provider')

  await page.getByRole('tab', { name: 'By provider' }).click()
  await page.getByRole('button', { name: 'Release: Google' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Release all' }).click()
  await page.getByRole('button', { name: 'Release: Google' }).waitFor({ state: 'detached' })
  t.same(await held(), [])
  await page.getByRole('button', { name: 'Try now: Google' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Try all now' }).click()
  await expectText(page, 'Try all now: completed')
  await waitUntil('both were tried again', async () =>
    (await app.rows<{ attempts: number }>("select attempts from queue where domain = 'google.com'")).every(
      ({ attempts }) => attempts === 2,
    ),
  )
  await dashboard.open('/operator/queue?tab=entries&provider=nonsense')
  await page.waitForSelector('select[name="provider"][aria-invalid="true"]')
  t.same(dashboard.faults, [])
})

t.test('a hold rule holds entries, which name it, until it is ended', { skip }, async (t) => {
  const { app, dashboard } = await openOperatorWorld(t)
  const { page } = dashboard
  await app.waitUntilAttempted(await app.submitAccepted({ to: ['one@b.test'] }))
  await dashboard.open('/operator/queue?tab=rules')
  await expectText(page, 'There are no hold rules')
  await page.getByRole('button', { name: 'Add a hold rule' }).click()
  await page.getByRole('button', { name: 'Hold this mail' }).click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await page.getByLabel('Domain of recipients').fill('b.test')
  await expectPresentable(t, dashboard, 'the form of a hold rule')
  await page.getByRole('button', { name: 'Hold this mail' }).click()
  const end = page.getByRole('button', { name: /^End hr_/ })
  await end.waitFor()
  await expectPresentable(t, dashboard, 'hold rules')
  await waitUntil('it is held', async () => (await listHolds(app))[0] === '4')
  await app.submitAccepted({ to: ['two@b.test'] })
  await waitUntil('what comes later is held', async () => (await listHolds(app))[1] === '4')

  await page.getByRole('tab', { name: 'Entries' }).click()
  await page.getByRole('button', { name: 'Delete one@b.test' }).waitFor()
  await page.getByRole('button', { name: 'Delete two@b.test' }).waitFor()
  await expectEqual(
    t,
    () => page.getByRole('button', { name: /^(Release|Try now)/ }).count(),
    0,
    'only the end of the rule frees them',
  )
  await expectPresentable(t, dashboard, 'entries of a hold rule')
  await page.getByRole('button', { name: 'Hold by hand: two@b.test' }).click()
  await page.getByRole('button', { name: 'Release two@b.test' }).waitFor()
  await page.getByRole('tab', { name: 'By provider' }).click()
  await page.getByRole('link', { name: 'Hold rule' }).click()
  await page.getByRole('button', { name: 'Hold all' }).waitFor()
  await expectEqual(t, () => page.getByRole('button', { name: 'Release all' }).count(), 0)
  await page.getByRole('link', { name: /^hold rule hr_/ }).click()
  await end.click()
  await page.getByRole('dialog').getByRole('button', { name: 'End the rule' }).click()
  await page.getByText('There is no hold rule hr_').waitFor()
  t.same(await listHolds(app), ['0', '1'], 'what is held by hand stays held')
  t.same(dashboard.faults, [])
})

t.test('the operator sees why a provider gets mail slowly', { skip }, async (t) => {
  const { app, dashboard } = await openOperatorWorld(t)
  const { read, commit } = app.daemon.database
  const pace = { provider: 'google', source: '', reset: 0, updated_at: app.now(), rate: 2_500 }
  const pause = { pause_kind: 'rate', pause_reply: '421 4.7.28 unusual rate', pause_since: 0, pause_probes: 0 }
  await commit([await rowOf(read)('provider_paces', { ...pace, ...pause, pause_until: app.now() + 86_400_000 })])
  await dashboard.open('/operator/queue?tab=paces')
  await expectText(dashboard.page, 'Google asked us to slow down: 421 4.7.28 unusual rate')
  await dashboard.page.getByText('Paused', { exact: true }).waitFor()
  await expectPresentable(t, dashboard, 'paces of providers')
  t.same(dashboard.faults, [])
})
