/** The pages of emails: send one, follow its story, hold and retry it, read its message, cancel one, find one. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'
import { closeNotices, compose, sectionOf } from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>`

interface World {
  readonly app: TestDaemon
  readonly dashboard: Dashboard
  readonly page: Page
  /** From now on no recipient is deferred. */
  readonly accept: () => void
}

async function openWorld(t: Test): Promise<World> {
  let later = true
  const sink = await openSink({
    script: {
      rcpt: ({ line }) => {
        if (line.includes('gone@')) return `550 5.1.1 no such user ${HOSTILE}`
        return later && line.includes('later@') ? '450 4.2.0 greylisted, come back' : '250 2.1.5 ok'
      },
    },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  const accept = (): void => {
    later = false
  }
  return { app, dashboard, page: dashboard.page, accept }
}

t.test('an email is sent, followed, held, released and read', { skip }, async (t) => {
  const { app, dashboard, page, accept } = await openWorld(t)
  await compose(page, HOSTILE, ['not an address'])
  await page.getByLabel('Content').selectOption('html')
  await page.getByLabel('HTML', { exact: true }).fill(`<p>Hello</p>${HOSTILE}<img src="https://b.test/x.png">`)
  await page.getByLabel('Name of the sender').fill(HOSTILE)
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.waitForSelector('textarea[name="to"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the composer with an error')

  await page.getByLabel('To', { exact: true }).fill('bob@b.test\nlater@b.test\ngone@b.test')
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
  await sectionOf(page, 'bob@b.test').getByText('Delivered', { exact: true }).first().waitFor()
  await sectionOf(page, 'gone@b.test')
    .getByText(/^The mailbox does not exist\./)
    .first()
    .waitFor()
  await sectionOf(page, 'gone@b.test').getByText(HOSTILE).first().waitFor()
  const later = sectionOf(page, 'later@b.test')
  await later.getByText(/^The receiving side asks unknown senders to try again later \(greylisting\)\./).waitFor()
  await later.getByText(/^Next attempt/).waitFor()
  await expectPresentable(t, dashboard, 'the story of an email')

  await later.getByRole('button', { name: 'Hold: later@b.test' }).click()
  await later.getByText('Held by the workspace').waitFor()
  t.same(await heldOf(app, 'later@b.test'), [3])
  await later.getByRole('button', { name: 'Release: later@b.test' }).click()
  await later.getByText(/^Next attempt/).waitFor()
  await app.cli('queue', 'hold', '--domain', 'b.test')
  await page.reload()
  await later.getByText('The operator of this service holds it').waitFor()
  await expectEqual(t, () => later.getByRole('button').count(), 0, 'what the operator holds is not offered to members')
  await app.cli('queue', 'release', '--domain', 'b.test')
  await page.reload()
  accept()
  await closeNotices(page)
  await later.getByRole('button', { name: 'Retry now: later@b.test' }).click()
  await later.getByText('Delivered', { exact: true }).first().waitFor()
  const acts = await app.rows<{ action: string }>(
    `select action from audit_log where action like 'queue.%' order by seq`,
  )
  t.same(
    acts.map(({ action }) => action),
    ['queue.held', 'queue.released', 'queue.held', 'queue.released', 'queue.retried'],
  )

  t.same(dashboard.faults, [])
  await readMessage(t, dashboard)
  const others = dashboard.faults.filter((fault) => !BLOCKED.test(fault))
  t.ok(dashboard.faults.length > 0 && others.length === 0, `the frame runs and loads nothing: ${others.join()}`)
})

/** What the browser says of the HTML that a stranger may have written. */
const BLOCKED = /^(?:Blocked script execution in .*\/frames\/|Loading the image .* violates .*"img-src data:")/

async function heldOf(app: TestDaemon, recipient: string): Promise<readonly number[]> {
  return (await app.rows<{ held: number }>('select held from queue where recipient = ?', recipient)).map(
    ({ held }) => held,
  )
}

async function readMessage(t: Test, dashboard: Dashboard): Promise<void> {
  const { page } = dashboard
  await page.getByRole('tab', { name: 'Message' }).click()
  await page.frameLocator('iframe').getByText('Hello').waitFor()
  await expectPresentable(t, dashboard, 'the message')
  await page.getByRole('tab', { name: 'Text' }).click()
  await page.locator('.message-text').waitFor()
  await page.getByRole('tab', { name: 'Header' }).click()
  await page.getByText(/^DKIM-Signature:/).waitFor()
  t.notMatch(await page.locator('.message-text').textContent(), /<p>/, 'the header alone')
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save the message as a file' }).click()
  t.match((await saving).suggestedFilename(), /^[0-9a-f-]{36}\.eml$/)
  await page.getByRole('tab', { name: 'Events' }).click()
  await page.getByRole('cell', { name: 'gone@b.test' }).first().waitFor()
  await page.getByRole('cell', { name: HOSTILE }).first().waitFor()
  await expectPresentable(t, dashboard, 'the events of an email')
  await page.getByRole('tab', { name: 'Clicks' }).click()
  await page.getByText('No click').waitFor()
}

t.test('a bounce leads to the entry of the suppression list, which can be undone', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await compose(page, 'Hello', ['bob@b.test', 'gone@b.test'])
  await page.getByRole('button', { name: 'Send the email' }).click()
  const gone = sectionOf(page, 'gone@b.test')
  await gone.getByText('This address is now suppressed').waitFor()
  await page.locator('.page-title').getByText('1 delivered', { exact: true }).waitFor()
  await page.locator('.page-title').getByText('1 bounced', { exact: true }).waitFor()
  await page.getByRole('button', { name: /^Copy the story as text/ }).click()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  t.match(copied, /to gone@b\.test: bounced\n[\s\S]*The mailbox does not exist\.[\s\S]*This address is now suppressed/)
  await expectPresentable(t, dashboard, 'the story of a bounce')

  await gone.getByRole('link', { name: 'Show the entry of gone@b.test' }).click()
  await page.getByRole('rowheader', { name: /gone@b\.test/ }).waitFor()
  await dashboard.open('/emails?status=bounced')
  await page.getByRole('link', { name: 'Hello' }).click()

  await dashboard.open('/emails')
  await compose(page, 'Again', ['gone@b.test'])
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.getByText('Nothing was sent, because each address is on the suppression list').waitFor()
  await expectPresentable(t, dashboard, 'the composer with a suppressed recipient')
  await page.getByRole('link', { name: 'Show the entry of gone@b.test' }).click()
  await page.getByRole('link', { name: 'Open the email' }).click()

  await gone.getByRole('button', { name: 'Undo: remove gone@b.test from the suppression list' }).click()
  await expectPresentable(t, dashboard, 'the dialog of the undo')
  await page.getByRole('button', { name: 'Remove the address from the list' }).click()
  await page.getByText('gone@b.test is no longer suppressed.').waitFor()
  await gone.getByText('This address was suppressed').waitFor()
  await gone.getByText('The address was taken off the suppression list').waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.textContent'), 'gone@b.test', 'the focus stays near')
  await expectPresentable(t, dashboard, 'a story after the undo')
  await gone.getByRole('link', { name: 'Send this email again' }).click()
  await expectEqual(t, () => page.getByLabel('To', { exact: true }).inputValue(), 'gone@b.test')
  t.equal(await page.getByLabel('Subject').inputValue(), 'Hello')
  t.equal(await page.getByLabel('Text').inputValue(), 'This is a test.')
  t.same(await app.rows('select id from suppressions'), [])
  t.same(dashboard.faults, [])
})

t.test('a scheduled email is rescheduled, sent now, and another cancelled', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  const inHours = (hours: number): string => new Date(app.now() + hours * 3_600_000).toISOString()
  const schedule = async (subject: string): Promise<string> => {
    const body = { from: 'app@a.test', to: 'bob@b.test', subject, text: 'x', scheduled_for: inHours(2) }
    return (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>().id
  }
  const [first, second] = [await schedule('first'), await schedule('second')]
  await dashboard.open(`/emails/${first}`)
  await page.getByRole('button', { name: 'Reschedule' }).click()
  await page.getByLabel('Send at').fill('2091-01-01T10:00')
  await page.getByRole('button', { name: 'Save the time' }).click()
  await page.waitForSelector('[name="scheduled_for"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the dialog of a time')
  await page.getByLabel('Send at').fill(inHours(5).slice(0, 16))
  await page.getByRole('button', { name: 'Save the time' }).click()
  await page.getByText('The email is scheduled for another time.').waitFor()
  t.equal((await app.findStory(first)).scheduled_for?.slice(0, 16), inHours(5).slice(0, 16))
  await closeNotices(page)
  await page.getByRole('button', { name: 'Send now' }).click()
  await page.locator('.page-title').getByText('Delivered').waitFor()

  await dashboard.open(`/emails/${second}`)
  await page.getByRole('button', { name: 'Cancel the email' }).click()
  await page.getByLabel('Type “bob@b.test” to confirm').fill('bob@b.test')
  await page.getByRole('button', { name: 'Cancel the email permanently' }).click()
  await page.locator('.page-title').getByText('Cancelled').waitFor()
  t.equal((await app.findStory(second)).status, 'cancelled')
  t.same(dashboard.faults, [])
})

t.test('an email is not sent at once because its time is half filled or has passed', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  const send = page.getByRole('button', { name: 'Send the email' })
  await compose(page, '', [''])
  await send.click()
  await page.locator('.field-error', { hasText: 'Fill in this field.' }).waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'to', 'it has the focus')
  await page.getByLabel('To', { exact: true }).fill('bob@b.test')
  await page.getByLabel('Subject').fill('Later')
  await page.getByLabel('Send at').press('1')
  await send.click()
  await page.getByText('Complete the date and the time, or clear the field.').waitFor()
  await page.getByLabel('Send at').fill('2020-01-01T10:00')
  await send.click()
  await page.getByText('Must be a time in the future.').waitFor()
  t.same(await app.rows('select id from emails'), [])
  t.same(dashboard.faults, [])
})

t.test('a template is sent with values of its variables', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  const body = { name: `Welcome ${HOSTILE}`, subject: 'Hello {{user.name}}', text: 'Order {{order}}' }
  t.equal((await app.rest('POST', '/v1/templates', { body })).status, 201)
  await compose(page, 'unused', ['bob@b.test'])
  await page.getByLabel('Content').selectOption('template')
  await page.getByLabel('Variable order').fill('4711')
  await page.getByLabel('Variable user.name').fill('Bob')
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.getByRole('heading', { level: 1, name: 'Hello Bob' }).waitFor()
  await page.getByRole('tab', { name: 'Message' }).click()
  await page.locator('.message-text', { hasText: 'Order 4711' }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('emails are found by their recipient, subject, tag, status and time', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  await dashboard.open('/emails')
  await page.getByText('No email yet').waitFor()
  await expectPresentable(t, dashboard, 'no emails')
  for (const [to, subject, value] of [
    [['bob@b.test', 'long-gone@b.test'], 'Invoice 7', 'spring'],
    ['eve@b.test', `Invoice ${HOSTILE}`, 'autumn'],
    ['gone@b.test', '', HOSTILE],
  ] as const) {
    const tags = [{ name: 'campaign', value }]
    const body = { from: 'app@a.test', to, subject: subject === '' ? ' ' : subject, text: 'x', tags }
    const answer = await app.rest('POST', '/v1/emails', { body })
    t.equal(answer.status, 201)
    await app.waitUntilSettled(answer.json<{ id: string }>().id)
  }
  await page.reload()
  const rows = page.locator('tbody tr')
  await rows.nth(2).waitFor()
  await page.getByRole('rowheader', { name: '(no subject)' }).waitFor()
  await page.locator('tbody').getByText('Bounced', { exact: true }).waitFor()
  await page.locator('tbody').getByText('1 delivered', { exact: true }).waitFor()
  await page.locator('tbody').getByText('1 bounced', { exact: true }).waitFor()
  await expectPresentable(t, dashboard, 'the list of emails')
  const first = rows.first()
  await first.getByText('gone@b.test').waitFor()
  await page.getByRole('button', { name: 'Sort by: Accepted' }).click()
  await first.getByText('Invoice 7').waitFor()
  await expectMatch(t, () => page.url(), /order=oldest/)
  await page.getByRole('button', { name: 'Sort by: Accepted' }).click()
  await first.getByText('gone@b.test').waitFor()

  const expectRows = async (count: number): Promise<void> => {
    await rows.nth(count).waitFor({ state: 'detached' })
    await (count === 0 ? page.getByText('No email matches the filters') : rows.nth(count - 1)).waitFor()
  }
  const filter = async (name: string, text: string, count: number): Promise<void> => {
    const field = page.locator(`.filters [name="${name}"]`)
    if (!(await field.isVisible())) await page.getByText('More filters').click()
    await field.fill(text)
    await page.getByRole('button', { name: 'Filter' }).click()
    await expectRows(count)
    await page.getByRole('button', { name: 'Clear' }).click()
    await expectRows(3)
  }
  await filter('text', 'EVE@', 1)
  await filter('text', 'INVOICE', 2)
  await filter('recipient', 'EVE@', 1)
  await filter('subject', 'invoice', 2)
  await filter('tag', 'campaign', 3)
  await filter('tag', 'campaign: spring', 1)
  await filter('domain', 'other.test', 0)
  await filter('from', '2090-01-01T00:00', 0)
  await filter('to', '2090-01-01T00:00', 3)
  await dashboard.open('/emails?status=bounced')
  await page.getByRole('link', { name: '(no subject)' }).click()
  await page.getByRole('heading', { level: 1, name: '(no subject)' }).waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Clear' }).waitFor()
  await expectMatch(t, () => page.url(), /status=bounced/)
  t.same(dashboard.faults, [])
})

t.test('among many domains the one of the sender is found by its beginning', { skip }, async (t) => {
  const { app, dashboard, page } = await openWorld(t)
  const columns = 'id, workspace_id, domain, status, forced, inbound, track_opens, track_clicks, created_at'
  await app.daemon.database.commit(
    Array.from({ length: 101 }, (_, n) => ({
      sql: `insert into domains (${columns}, verified_at, record_states) values (?, ?, ?, 'verified', 1, 0, 0, 0, 1, 1, '{}')`,
      parameters: [`dom_${n}`, app.workspaceId, `x${String(n).padStart(3, '0')}.test`],
    })),
  )
  await dashboard.open('/emails/new')
  const field = page.getByLabel('Domain')
  await field.fill('X09')
  const offered = page.locator('datalist option')
  await waitUntil('the domains with that beginning', async () => (await offered.count()) === 10)
  await expectEqual(t, () => offered.first().getAttribute('value'), 'x090.test')
  await expectPresentable(t, dashboard, 'the composer with many domains')
  await field.fill('a.test')
  await page.getByLabel('To', { exact: true }).fill('one@b.test')
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.getByText('The email is accepted.').waitFor()
  t.same(dashboard.faults, [])
})
