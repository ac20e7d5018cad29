/** The addresses of the simulator: the ordinary way of a message, over REST and SMTP, and a scripted end. */
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { wordsOfJson } from '../helpers/database/test-engine.js'
import { deliverInbound, inboundText } from '../helpers/smtp/deliver-inbound.js'
import { waitUntil } from '../helpers/wait-until.js'

const domain = 'simulator.mail.service.test'

async function send(app: TestDaemon, to: string): Promise<string> {
  const body = { from: 'app@a.test', to: [`${to}@${domain}`], subject: 'A test', text: 'Hello' }
  const answer = await app.rest('POST', '/v1/emails', { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

const events = async (app: TestDaemon, id: string): Promise<string[]> =>
  (await app.rows<{ type: string }>('select type from events where email_id = ? order by seq', id)).map(
    ({ type }) => type,
  )

async function bounceOf(app: TestDaemon, id: string): Promise<object | undefined> {
  const sql = `select ${wordsOfJson('data', 'bounce_type')} as type, ${wordsOfJson('data', 'bounce_subtype')} as subtype from events
    where email_id = ? and type = 'email.bounced'`
  return (await app.rows<object>(sql, id))[0]
}

async function waitForEvents(app: TestDaemon, id: string, expected: readonly string[]): Promise<void> {
  await waitUntil(
    `${expected.join(' ')}, found ${await events(app, id)}`,
    async () => (await events(app, id)).join() === expected.join(),
  )
}

const app = await testDaemon(t, { level: 'info' })

t.test('delivered, bounce and unknown addresses, over REST and SMTP', async (t) => {
  const delivered = await send(app, 'delivered+1')
  t.match(await app.waitUntilSettled(delivered), {
    status: 'delivered',
    recipients: [{ attempts: [{ mx: domain, response: /^250 2\.0\.0 / }] }],
  })
  await waitForEvents(app, delivered, ['email.queued', 'email.sent', 'email.delivered'])
  for (const name of ['bounce', 'nothing-of-it']) {
    const bounced = await send(app, name)
    t.match(await app.waitUntilSettled(bounced), { status: 'bounced' })
    t.same(await bounceOf(app, bounced), { type: 'hard', subtype: 'bad-mailbox' })
    await waitForEvents(app, bounced, ['email.queued', 'email.bounced'])
  }
  const submitted = await app.submitAccepted({ to: [`bounce+smtp@${domain}`] })
  t.match(await app.waitUntilSettled(submitted), { status: 'bounced' })
})

t.test('a complaint is read as one of a provider, and the address stays open for the next test', async (t) => {
  for (const attempt of [1, 2]) {
    const id = await send(app, 'complaint')
    await waitForEvents(app, id, ['email.queued', 'email.sent', 'email.delivered', 'email.complained'])
    t.equal((await app.findStory(id)).status, 'complained', `${attempt}`)
  }
  t.same(await app.rows('select 1 from inbound_emails'), [], 'the report leaves nothing')
})

t.test('a soft bounce is deferred twice, and ends with the third attempt', async (t) => {
  const id = await send(app, 'soft-bounce')
  for (const attempts of [1, 2]) {
    await waitUntil(
      `attempt ${attempts}`,
      async () => (await app.rows('select 1 from attempts where email_id = ?', id)).length >= attempts,
    )
    const [entry] = await app.rows<{ id: string }>('select id from queue where email_id = ?', id)
    const { status, err } = await app.cli('queue', 'retry', entry?.id ?? '')
    t.equal(status, 0, err)
  }
  t.match(await app.waitUntilSettled(id), { status: 'bounced' })
  t.same(await bounceOf(app, id), { type: 'soft', subtype: 'expired' })
  await waitForEvents(app, id, ['email.queued', 'email.deferred', 'email.deferred', 'email.bounced'])
})

t.test('nothing of it suppresses, but an address that is suppressed by hand stays so', async (t) => {
  t.same(await app.rows('select 1 from suppressions'), [])
  const body = { email: `bounce@${domain}`, reason: 'manual' }
  t.equal((await app.rest('POST', '/v1/suppressions', { body })).status, 201)
  const answer = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: [`bounce@${domain}`], subject: 'A test', text: 'Hello' },
  })
  t.notMatch(answer.text, /"queued"/)
})

t.test('from outside the domain receives nothing', async (t) => {
  const reply = await deliverInbound(t, app, { to: [`delivered@${domain}`], raw: inboundText() })
  t.match(reply, /^550 5\.1\.1 /)
  t.same(app.errors, [])
})
