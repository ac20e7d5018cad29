/** The pages of received mail: list, filters, one message with its parts, reply, feedback, deletion. */
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { uuidv7 } from '../../src/base/platform/ids.js'
import { storeInbound } from '../../src/records/messages/inbound/inbound-email.js'
import type { TestDaemon } from '../helpers/daemon/test-daemon.js'
import { rowOf } from '../helpers/database/rows.js'
import { inboundMail } from '../helpers/mail/inbound-mail.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard, waitForRows } from '../helpers/ui/dashboard.js'
import { expectMatch } from '../helpers/ui/expect-shown.js'
import { ATTACK, hostileMessage, receivingDaemon } from '../helpers/ui/receiving.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const zone = { 'b.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] }, 'spoofed.test': { TXT: ['v=spf1 -all'] } } as const

async function receive(t: Test, app: TestDaemon, from: string, raw: string): Promise<string> {
  const id = idOfReply(await deliverInbound(t, app, { from, to: ['info@home.test'], raw }))
  await waitUntilProcessed(app, id)
  return id
}

/** Older than what is received, and not processed. */
async function storeMany(app: TestDaemon, count: number): Promise<void> {
  const writes = Array.from({ length: count }, (_, at) => {
    const id = uuidv7(1_000 + at)
    const mail = inboundMail({ id, workspace_id: app.workspaceId, received_at: 1_000 + at, domain: 'home.test' })
    return storeInbound(mail, Buffer.from(inboundText()))
  })
  await app.daemon.database.commit(writes.flat())
}

/** The browser names what the frame of a message refuses by its own policy; the pages must cause nothing. */
const refusedInFrame = /^Blocked script execution in '[^']+\/ui\/api\/frames\/|directive: "img-src data:"/

async function expectHarmless(t: Test, { page, faults }: Dashboard): Promise<void> {
  t.equal(await page.evaluate('typeof window.hacked'), 'undefined', 'nothing of the message was run')
  t.same(
    faults.filter((fault) => !refusedInFrame.test(fault)),
    [],
  )
}

t.test('received mail is listed, filtered and paged', { skip }, async (t) => {
  const app = await receivingDaemon(t, { zone })
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'Inbound' }).click()
  await page.getByText('No mail received yet').waitFor()
  await expectPresentable(t, dashboard, 'the empty list')

  await storeMany(app, 60)
  await receive(t, app, 'ann@b.test', hostileMessage)
  await receive(t, app, 'bob@b.test', inboundText({ from: 'bob@b.test', subject: 'an order' }))
  await page.reload()
  await page.getByRole('link', { name: ATTACK }).waitFor()
  await page.getByText('<script>window.hacked=1</script>').waitFor()
  t.pass('the name of the sender is text')
  await expectPresentable(t, dashboard, 'the list')
  await waitForRows(dashboard, 50)
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('Page 2').waitFor()
  await waitForRows(dashboard, 12)

  await page.getByLabel('Sender').fill('bob@')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.waitForSelector('input[name="from"][aria-invalid="true"]')
  await page.getByLabel('Sender').fill('bob@b.test')
  await page.getByLabel('Recipient’s domain').fill('home.test')
  await page.getByLabel('Received since').fill('2026-01-01T00:00')
  await page.getByRole('button', { name: 'Filter' }).click()
  await waitForRows(dashboard, 1)
  await page.getByRole('link', { name: 'an order' }).waitFor()
  t.pass('it is shown')
  await page.getByLabel('Processing').selectOption('failed')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('No mail matches the filters').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('link', { name: ATTACK }).waitFor()
  await expectHarmless(t, dashboard)
})

t.test('a hostile message is read, marked, answered and deleted', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await receivingDaemon(t, { zone, routes: { 'b.test': sink } })
  const id = await receive(t, app, 'ann@b.test', hostileMessage)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open(`/inbound/${id}`)
  await page.getByRole('heading', { level: 1, name: ATTACK }).waitFor()
  await page.frameLocator('iframe').getByText('Good day').waitFor()
  await expectHarmless(t, dashboard)
  await expectPresentable(t, dashboard, 'the HTML')

  await page.getByRole('tab', { name: 'Text' }).click()
  await page.getByText(`How do you do? ${ATTACK}`).waitFor()
  await page.getByRole('tab', { name: 'Checks' }).click()
  const checks = page.getByRole('table', { name: 'Authentication results' })
  await expectMatch(t, () => checks.textContent(), /SPF.*Pass.*b\.test.*DKIM.*None.*DMARC.*ARC.*Reverse DNS/)
  await expectMatch(
    t,
    () => page.getByRole('table', { name: 'Reasons of the spam score' }).textContent(),
    /[A-Z]{3}\w+/,
  )
  await expectPresentable(t, dashboard, 'the checks')
  await page.getByRole('tab', { name: 'Header' }).click()
  await page.getByRole('row', { name: 'X-Attack' }).getByText(ATTACK).waitFor()
  t.pass('it is shown')
  await expectPresentable(t, dashboard, 'the header')
  await page.getByRole('tab', { name: 'Raw' }).click()
  await page.getByText('Return-Path: <ann@b.test>').waitFor()
  await expectPresentable(t, dashboard, 'the raw message')
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^Save <img/ }).click(),
  ])
  t.equal((await text(await saved.createReadStream())).trim(), '<script>window.hacked=1</script>')
  t.notMatch(saved.suggestedFilename(), /[<>]/)
  const [raw] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as a file' }).click(),
  ])
  t.ok((await text(await raw.createReadStream())).endsWith(hostileMessage), 'the message as it came')

  await page.getByRole('button', { name: 'Mark as spam' }).click()
  await page.getByText('The filter learned this message as spam.').waitFor()
  t.match((await app.rest('GET', `/v1/inbound/${id}`)).json(), { spam_status: 'spam' })
  await page.getByRole('button', { name: 'Mark as not spam' }).click()
  await page.getByRole('button', { name: 'Mark as spam' }).waitFor()
  t.match((await app.rest('GET', `/v1/inbound/${id}`)).json(), { spam_status: 'clean' })

  await page.getByRole('button', { name: 'Reply' }).click()
  await expectMatch(t, () => page.getByLabel('Text', { exact: true }).inputValue(), /wrote:\n> How do you do\?/)
  await expectPresentable(t, dashboard, 'the reply')
  await page.getByLabel('Text', { exact: true }).fill('Thank you, very well.')
  const file = { name: 'answer.txt', mimeType: 'text/plain', buffer: Buffer.from('an attached answer') }
  await page.getByLabel('Attachment (optional)').setInputFiles(file)
  await page.getByRole('button', { name: 'Send the reply' }).click()
  const link = await page.getByRole('link', { name: 'Follow its delivery' }).getAttribute('href')
  await app.waitUntilSettled(link?.split('/').at(-1) ?? '')
  t.match(
    sink.messages.at(-1)?.raw.toString(),
    /In-Reply-To: <hostile@b\.test>[\s\S]*Thank you, very well\.[\s\S]*answer\.txt/,
  )

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByLabel('Type “ann@b.test” to confirm').fill('ann@b.test')
  await page.getByRole('button', { name: 'Delete the message' }).click()
  await page.getByText('The message is deleted.').waitFor()
  t.equal((await app.rest('GET', `/v1/inbound/${id}`)).status, 404)
  await dashboard.open(`/inbound/${id}`)
  await page.getByRole('alert').waitFor()
  await expectHarmless(t, dashboard)
})

t.test('received mail says what forwarding rules did with it', { skip }, async (t) => {
  const app = await receivingDaemon(t, { zone })
  await storeMany(app, 1)
  const [mail] = await app.rows<{ id: string }>('select id from inbound_emails')
  const forward = { workspace_id: app.workspaceId, inbound_id: mail?.id ?? '', target: 'ann@elsewhere.test' }
  const done = { status: 'not-forwarded', reason: 'unconfirmed' }
  const { read, commit } = app.daemon.database
  await commit([await rowOf(read)('inbound_forwards', { ...forward, ...done })])
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  await dashboard.open(`/inbound/${mail?.id}`)
  await dashboard.page.getByText('The owner of the address has not agreed yet.').waitFor()
  await expectPresentable(t, dashboard, 'what forwarding rules did')
  t.same(dashboard.faults, [])
})
