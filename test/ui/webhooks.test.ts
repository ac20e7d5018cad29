/** The pages of webhooks: create one, test it, read an answer, replay, change, replace the secret, delete. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { addMember } from '../helpers/ui/add-member.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const HOSTILE = '<img src=x onerror="document.title=1">'
const settings = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }

async function createWebhook(page: Page, url: string): Promise<string> {
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('link', { name: 'Create a webhook' }).click()
  await page.getByLabel('URL').fill('ftp://nowhere.test')
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  await page.waitForSelector('input[name="url"][aria-invalid="true"]')
  await page.getByLabel('URL').fill(url)
  await page.getByRole('checkbox', { name: 'email.queued' }).check()
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  await page.getByRole('heading', { name: 'The webhook is created' }).waitFor()
  return (await page.locator('.copy code').textContent()) ?? ''
}

const send = async ({ rest }: TestDaemon): Promise<number> => {
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't' }
  return (await rest('POST', '/v1/emails', { body })).status
}

t.test('a webhook is created, tested, replayed, changed and deleted', { skip }, async (t) => {
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.end(HOSTILE))
  // Deferred emails: the webhook gets no other event than `email.queued`.
  const sink = await openSink({ script: { rcpt: () => '450 4.2.1 later' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { settings, routes: { 'b.test': sink } })
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/webhooks')
  await page.getByText('No webhook yet').waitFor()
  const secret = await createWebhook(page, receiver.url)
  t.match(secret, /^whsec_/)
  await expectPresentable(t, dashboard, 'the secret of a webhook')
  await page.getByRole('link', { name: 'Open the webhook' }).click()
  await page.getByText('No delivery yet').waitFor()
  t.notOk((await page.content()).includes(secret), 'the secret is shown once')

  await page.getByRole('button', { name: 'Send a test event' }).click()
  await page.getByRole('rowheader', { name: 'webhook.test' }).waitFor()
  await page.getByRole('table').getByText('Delivered', { exact: true }).waitFor()
  await page.getByRole('button', { name: /^Details of webhook.test/ }).click()
  await page.getByRole('dialog').getByText(HOSTILE).waitFor()
  await expectPresentable(t, dashboard, 'a delivery')
  await page.getByRole('button', { name: 'Deliver it again' }).click()
  await waitUntil('the test comes twice', () => receiver.requests.length === 2)

  t.equal(await send(app), 201)
  await waitUntil('the event comes', () => receiver.requests.length === 3)
  await page.getByRole('button', { name: 'Replay a time range' }).click()
  await page.getByLabel('Until').fill('2020-01-01T00:00')
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText('Must be later than from').waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'to')
  await expectPresentable(t, dashboard, 'the dialog of a replay with an error')
  const tomorrow = new Date(app.now() + 86_400_000).toISOString().slice(0, 16)
  await page.getByLabel('Until').fill(tomorrow)
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText('Events to be delivered again: 1.').waitFor()
  await waitUntil('it comes again', () => receiver.requests.length === 4)

  await changeSettings(page)
  await expectPresentable(t, dashboard, 'the settings of a webhook')
  const form = { format: 'sendgrid', content: 'raw', headers: { 'X-Token': '***' } }
  t.match((await app.rest('GET', '/v1/webhooks')).json(), {
    data: [{ enabled: false, events: { length: 3 }, ...form }],
  })
  await page.getByRole('button', { name: 'Delete the webhook' }).click()
  await page.getByLabel('to confirm').fill(`127.0.0.1:${receiver.port}`)
  await page.getByRole('button', { name: 'Delete it with its deliveries' }).click()
  await page.getByText('No webhook yet').waitFor()
  t.match((await app.rest('GET', '/v1/webhooks')).json(), { data: { length: 0 } })
  t.same(dashboard.faults, [])
})

/** Leaves the webhook disabled, with another secret and without one of its types. */
async function changeSettings(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByRole('checkbox', { name: 'email.queued' }).uncheck()
  await page.getByLabel('Header fields').fill('no colon')
  await page.getByRole('button', { name: 'Save the webhook' }).click()
  await page.waitForSelector('textarea[name="headers"][aria-invalid="true"]')
  await page.getByLabel('Format').selectOption('SendGrid')
  await page.getByLabel('Content of inbound mail').selectOption('raw')
  await page.getByLabel('Header fields').fill('X-Token: hidden-token')
  await page.getByRole('button', { name: 'Save the webhook' }).click()
  await page.getByText('The webhook is changed.').waitFor()
  await page.getByRole('button', { name: 'Replace the secret' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replace the secret' }).click()
  await page.getByRole('heading', { name: 'The new secret' }).waitFor()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await page.getByRole('button', { name: 'Disable the webhook' }).click()
  await page.getByRole('button', { name: 'Enable it' }).click()
  await page.getByText('The webhook is enabled.').waitFor()
  await page.getByRole('button', { name: 'Disable the webhook' }).click()
  await page.getByText('This webhook is disabled').waitFor()
}

t.test('a member sees webhooks and their deliveries, and is offered no change', { skip }, async (t) => {
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.writeHead(500).end())
  const app = await testDaemon(t, { settings })
  const created = await app.rest('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['email.queued'] } })
  const { id } = created.json<{ id: string }>()
  await app.rest('POST', `/v1/webhooks/${id}/test`)
  await waitUntil('it was attempted', () => receiver.requests.length === 1)
  await addMember(app, 'member@a.test', 'member')
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn('member@a.test')
  await dashboard.open('/webhooks')
  await page.getByText('Answer 500').waitFor()
  await page.getByText('Failing', { exact: true }).waitFor()
  await expectPresentable(t, dashboard, 'the list of webhooks')
  await dashboard.open(`/webhooks/${id}`)
  await page.getByText('The deliveries fail').waitFor()
  await page.getByRole('rowheader', { name: 'webhook.test' }).waitFor()
  await expectEqual(t, () => page.getByRole('button', { name: 'Send a test event' }).count(), 0)
  await expectEqual(t, () => page.getByRole('tab').count(), 0)
  await page.getByRole('button', { name: /^Details/ }).click()
  await page.getByText('answered 500').waitFor()
  await page.getByRole('heading', { name: 'Body of the answer' }).waitFor()
  await page.locator('pre', { hasText: '"type": "webhook.test"' }).waitFor()
  await expectPresentable(t, dashboard, 'a delivery with its request')
  await expectEqual(t, () => page.getByRole('button', { name: 'Deliver it again' }).count(), 0)
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByLabel('Status').selectOption('delivered')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('No delivery in this state').waitFor()
  await expectMatch(t, () => page.url(), /status=delivered/)
  t.same(dashboard.faults, [])
})

t.test('without an answer, no body of it is shown', { skip }, async (t) => {
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.destroy())
  const app = await testDaemon(t, { settings })
  const created = await app.rest('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['email.queued'] } })
  const { id } = created.json<{ id: string }>()
  await app.rest('POST', `/v1/webhooks/${id}/test`)
  await waitUntil('it was attempted', () => receiver.requests.length === 1)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open(`/webhooks/${id}`)
  await page.getByText('The deliveries fail').waitFor()
  await page.getByRole('button', { name: /^Details of webhook.test/ }).click()
  await page.locator('pre', { hasText: '"type": "webhook.test"' }).waitFor()
  await expectEqual(t, () => page.getByRole('heading', { name: 'Body of the answer' }).count(), 0)
  t.same(dashboard.faults, [])
})
