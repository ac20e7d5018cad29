/**
 * Webhooks in the formats of other services, delivered to the receivers of other projects: django-anymail and the
 * ingresses of Rails' Action Mailbox.
 */
import { createPublicKey, createVerify } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { recordEvent } from '../../src/records/events/event-log.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { freePort } from '../helpers/free-port.js'
import { type ReceivedRequest, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { childServer } from '../helpers/programs/child-server.js'
import { python, skipWithoutModule } from '../helpers/programs/run-program.js'
import { deliverInbound, idOfReply, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Hook {
  readonly id: string
  readonly url: string
  readonly signing_secret: string
  readonly verification_key: string | null
  readonly headers: Readonly<Record<string, string>>
}

type Fields = Readonly<Record<string, unknown>>

const skipAnymail = skipWithoutModule([python, '-c', 'import anymail'], 'python3-django-anymail')
const skipRails = skipWithoutModule(['ruby', '-e', 'require "rails"; require "sqlite3"; gem "actionmailbox"'], 'rails')

async function start(t: Test): Promise<TestDaemon> {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<none@') ? '550 5.1.1 no such user' : '250 2.1.5 ok') },
  })
  t.teardown(() => sink.close())
  const settings = {
    webhooks: { allowed_private_networks: ['127.0.0.0/8'] },
    inbound: { listen: ['127.0.0.1:0'], greylisting: { enabled: false } },
  }
  return testDaemon(t, { routes: { 'b.test': sink }, settings })
}

async function startInbound(t: Test): Promise<TestDaemon> {
  const app = await start(t)
  const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  if (added.status !== 0) throw new Error(added.err)
  return app
}

async function subscribe(app: TestDaemon, body: Fields): Promise<Hook> {
  const answer = await app.rest('POST', '/v1/webhooks', { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Hook>()
}

const emailTypes = [
  ...['email.sent', 'email.delivered', 'email.bounced', 'email.complained'],
  ...['email.opened', 'email.clicked', 'email.unsubscribed'],
]

async function sendEmail(app: TestDaemon): Promise<string> {
  const answer = await app.rest('POST', '/v1/emails', {
    body: {
      ...{ from: 'app@a.test', to: ['Bob@b.test', 'none@b.test'], subject: 'Your order', text: 'thanks' },
      tags: [
        { name: 'tag', value: 'welcome' },
        { name: 'category', value: 'orders' },
        { name: 'customer', value: '42' },
      ],
    },
  })
  return answer.json<{ readonly id: string }>().id
}

/** Events that people make, which here nobody does. */
async function recordReactions(app: TestDaemon, emailId: string): Promise<void> {
  const { workspaceId } = app
  const at = app.now()
  const iso = new Date(at).toISOString()
  const common = { workspaceId, emailId, recipient: 'Bob@b.test', at } as const
  const visit = { email_id: emailId, to: 'Bob@b.test', user_agent: 'Lynx', ip_address: '192.0.2.7', machine: false }
  const email = { email_id: emailId, from: 'app@a.test', to: 'Bob@b.test', subject: 'Your order', tags: {} }
  const link = 'https://example.com/?a=1&b=2'
  const click = { ...visit, link, url: link, clicked_at: iso, referer: null }
  const gone = { ...email, unsubscribed_at: iso, broadcast_id: null, contact_id: null }
  await app.daemon.database.commit([
    recordEvent({ ...common, type: 'email.opened', data: { ...visit, opened_at: iso } }),
    recordEvent({ ...common, type: 'email.clicked', data: click }),
    recordEvent({
      ...common,
      type: 'email.complained',
      data: { ...email, feedback_type: 'abuse', complained_at: iso },
    }),
    recordEvent({ ...common, type: 'email.unsubscribed', data: gone }),
  ])
}

const services = ['postmark', 'sendgrid', 'mailgun'] as const
type Service = (typeof services)[number]

interface Anymail {
  /** The events of each service so far, as anymail understood them. */
  readonly eventsOf: (service: Service) => readonly Fields[]
}

/** A webhook for each service, whose requests anymail gets. It asks for the credentials of the URLs. */
async function startAnymail(
  t: Test,
  app: TestDaemon,
  { path, events }: { readonly path: string; readonly events: readonly string[] },
): Promise<Anymail> {
  const port = await freePort()
  let key = ''
  for (const format of services) {
    const url = `http://rec:s%2Fecret@127.0.0.1:${port}/anymail/${format}/${path}/`
    const { signing_secret: secret } = await subscribe(app, { url, events, format })
    if (format === 'mailgun') key = secret
  }
  const file = 'test/journeys/support/anymail-receiver.py'
  const environment = [`MAILGUN_KEY=${key}`, 'RECEIVER_LOGIN=rec:s/ecret']
  const server = await childServer(t, ['env', ...environment, python, file, String(port)], 'listening')
  const eventsOf = (service: Service): readonly Fields[] => {
    const all = server.listLines('{"esp"').map((line) => JSON.parse(line) as Fields)
    return all.filter(({ esp }) => String(esp).toLowerCase() === service)
  }
  return { eventsOf }
}

const named = (events: readonly Fields[], type: string): Fields | undefined =>
  events.find((event) => event['event_type'] === type)

t.test('django-anymail understands the events of each service', { skip: skipAnymail }, async (t) => {
  const app = await start(t)
  const anymail = await startAnymail(t, app, { path: 'tracking', events: emailTypes })
  const id = await sendEmail(app)
  await app.waitUntilSettled(id)
  await recordReactions(app, id)
  for (const service of services) {
    await waitUntil(`all events of ${service}`, () => anymail.eventsOf(service).length === 6)
    const events = anymail.eventsOf(service)
    const { message_id: messageId } = await app.findStory(id)
    for (const event of events) {
      t.match(event, { message_id: service === 'postmark' ? id : messageId }, String(event['event_type']))
      const tags = service === 'postmark' ? ['welcome'] : ['welcome', 'orders']
      t.match(event, { tags, metadata: { customer: '42' } })
    }
    t.match(named(events, 'delivered'), { recipient: 'Bob@b.test' })
    t.match(named(events, 'bounced'), {
      ...{ recipient: 'none@b.test', mta_response: '550 5.1.1 no such user' },
      reject_reason: service === 'sendgrid' ? null : 'bounced',
    })
    t.match(named(events, 'opened'), { recipient: 'Bob@b.test', user_agent: 'Lynx' })
    t.match(named(events, 'clicked'), { click_url: 'https://example.com/?a=1&b=2' })
    t.ok(named(events, 'complained'))
    t.ok(named(events, 'unsubscribed'))
  }
  const [from, to] = [-3_600_000, 3_600_000].map((shift) => new Date(app.now() + shift).toISOString())
  const hooks = (await app.rest('GET', '/v1/webhooks')).json<{ readonly data: readonly Hook[] }>().data
  const replay = await app.rest('POST', `/v1/webhooks/${hooks[0]?.id}/replay`, { body: { from, to } })
  t.match(replay.json(), { count: 6 }, 'a replay counts what the format can express')
  const sent = await app.rows("select 1 from webhook_deliveries where type = 'email.sent'")
  t.same(sent, [], 'no service knows this type')
  t.same(app.errors, [])
})

const attachment = Buffer.from([0, 255, 1, 254, 65])
const inboundMail = [
  'From: =?utf-8?q?J=C3=B6rg?= <joerg@b.test>',
  'To: Support <support+1742@home.test>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  'Message-ID: <in-1@b.test>',
  'In-Reply-To: <out-1@home.test>',
  'References: <out-0@home.test> <out-1@home.test>',
  `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=x',
  '',
  '--x',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('Schöne Grüße').toString('base64'),
  '--x',
  'Content-Type: application/octet-stream',
  'Content-Disposition: attachment; filename="a b.bin"',
  'Content-Transfer-Encoding: base64',
  '',
  attachment.toString('base64'),
  '--x--',
  '',
].join('\r\n')

async function deliver(t: Test, app: TestDaemon): Promise<string> {
  const to = ['support+1742@home.test']
  const id = idOfReply(await deliverInbound(t, app, { to, from: 'joerg@b.test', raw: inboundMail }))
  await waitUntilProcessed(app, id)
  return id
}

t.test('django-anymail reads inbound mail of each service', { skip: skipAnymail }, async (t) => {
  const app = await startInbound(t)
  const anymail = await startAnymail(t, app, { path: 'inbound', events: ['email.received'] })
  await deliver(t, app)
  for (const service of services) {
    await waitUntil(`the mail of ${service}`, () => anymail.eventsOf(service).length === 1)
    t.match(anymail.eventsOf(service)[0], {
      ...{ event_type: 'inbound', subject: 'Grüße', author: ['Jörg', 'joerg@b.test'] },
      ...{ to: ['support+1742@home.test'], recipient: 'support+1742@home.test' },
      text: /^Schöne Grüße/,
      attachments: [['a b.bin', 'application/octet-stream', attachment.toString('hex')]],
      ...(service === 'postmark' ? { spam_detected: false } : { sender: 'joerg@b.test' }),
    })
  }
  t.same(app.errors, [])
})

t.test('the ingresses of Action Mailbox take inbound mail', { skip: skipRails }, async (t) => {
  const app = await startInbound(t)
  const port = await freePort()
  const urlOf = (name: string, path = 'inbound_emails'): string =>
    `http://actionmailbox:pass%20word@127.0.0.1:${port}/rails/action_mailbox/${name}/${path}`
  const events = ['email.received']
  await subscribe(app, { url: urlOf('relay'), events, format: 'raw' })
  await subscribe(app, { url: urlOf('postmark'), events, format: 'postmark', content: 'raw' })
  await subscribe(app, { url: urlOf('sendgrid'), events, format: 'sendgrid' })
  const hook = await subscribe(app, { url: urlOf('mailgun', 'inbound_emails/mime'), events, format: 'mailgun' })
  const keys = ['RAILS_INBOUND_EMAIL_PASSWORD=pass word', `MAILGUN_INGRESS_SIGNING_KEY=${hook.signing_secret}`]
  const file = 'test/journeys/support/action-mailbox-receiver.rb'
  const rails = await childServer(t, ['env', ...keys, 'ruby', file, String(port), temporaryFolder(t)], 'listening')
  await deliver(t, app)
  // Rails does not process the same bytes twice: one of the two ingresses that get them finds that they are there.
  const deliveries = (): Promise<readonly Fields[]> =>
    app.rows('select status, error, response_body from webhook_deliveries order by webhook_id')
  await waitUntil('all are attempted', async () => (await deliveries()).length === 4)
  t.same(
    (await deliveries()).map(({ status, error }) => [status, error]),
    Array.from({ length: 4 }, () => ['delivered', null]),
    rails.listLines('').slice(-60).join('\n'),
  )
  const mails = rails.listLines('{"subject"').map((line) => JSON.parse(line) as Fields)
  for (const mail of mails) t.match(mail, { subject: 'Grüße', from: ['joerg@b.test'] })
  t.ok(mails.some(({ original }) => String(original) === 'support+1742@home.test'))
  t.same(app.errors, [])
})

function renamed({ headers }: ReceivedRequest): Record<string, string> {
  const parts = ['id', 'timestamp', 'signature']
  return Object.fromEntries(parts.map((part) => [`webhook-${part}`, String(headers[`svix-${part}`])]))
}

t.test('what Resend sends verifies with the fields of svix', async (t) => {
  const app = await startInbound(t)
  const receiver = await webhookReceiver(t)
  const types = [...emailTypes, 'email.received']
  const hook = await subscribe(app, { url: receiver.url, events: types, format: 'resend', content: 'parsed' })
  const id = await sendEmail(app)
  await app.waitUntilSettled(id)
  await recordReactions(app, id)
  const inboundId = await deliver(t, app)
  await waitUntil('all events', () => receiver.requests.length === 7)
  for (const request of receiver.requests) new Webhook(hook.signing_secret).verify(request.body, renamed(request))
  const bodies = receiver.requests.map(({ body }) => JSON.parse(body) as { type: string; data: Fields })
  const dataOf = (type: string): Fields | undefined => bodies.find((body) => body.type === type)?.data
  t.match(dataOf('email.delivered'), { email_id: id, from: 'app@a.test', to: ['Bob@b.test'], tags: { customer: '42' } })
  t.match(dataOf('email.bounced'), { bounce: { type: 'Permanent', subType: 'NoEmail', message: /^550/ } })
  t.match(dataOf('email.clicked'), { click: { link: 'https://example.com/?a=1&b=2', ipAddress: '192.0.2.7' } })
  t.match(dataOf('email.received'), {
    ...{ email_id: inboundId, message_id: '<in-1@b.test>', to: ['support+1742@home.test'], cc: [] },
    ...{ text: /^Schöne Grüße/, html: null, attachments: [{ filename: 'a b.bin', size: 5 }] },
  })
  t.same(app.errors, [])
})

t.test('a receiver of email.received needs no key for the message and its attachments', async (t) => {
  const app = await startInbound(t)
  const receiver = await webhookReceiver(t)
  await subscribe(app, { url: `${receiver.url}/none`, events: ['email.received'] })
  await subscribe(app, { url: `${receiver.url}/raw`, events: ['email.received'], content: 'raw' })
  const id = await deliver(t, app)
  await waitUntil('both requests', () => receiver.requests.length === 2)
  const dataOf = (path: string): Fields => {
    const found = receiver.requests.find((request) => request.path.endsWith(path))
    return (JSON.parse(found?.body ?? '') as { readonly data: Fields }).data
  }
  const [plain, full] = [dataOf('/none'), dataOf('/raw')]
  t.match(plain, {
    ...{ inbound_email_id: id, message_id: '<in-1@b.test>', in_reply_to: '<out-1@home.test>', plus: '1742' },
    ...{ references: ['<out-0@home.test>', '<out-1@home.test>'], envelope_to: ['support+1742@home.test'] },
    ...{ spam_status: 'clean', spam_score: Number, attachments: [{ id: `${id}.0`, filename: 'a b.bin' }] },
  })
  t.notOk('raw' in plain || 'text' in plain, 'content is none')
  const stored = await app.rest('GET', `/v1/inbound/${id}/raw`)
  const download = async (link: unknown): Promise<{ status: number; text: string }> => {
    const { pathname, search } = new URL(String(link))
    return app.rest('GET', `${pathname}${search}`, { key: null })
  }
  t.match(await download(plain['raw_url']), { status: 200, text: stored.text })
  t.equal(Buffer.from(String(full['raw']), 'base64').toString(), stored.text)
  const [first] = plain['attachments'] as readonly { readonly download_url: string }[]
  t.match(await download(first?.download_url), { status: 200 })
  t.match(await download(String(plain['raw_url']).replace('signature=', 'signature=x')), { status: 403 })
  app.advance(3_600_001)
  t.match(await download(plain['raw_url']), { status: 403, text: /expired/ })
  t.same(app.errors, [])
})

t.test('a retry has the same ids, and its signatures and links are new', async (t) => {
  const app = await startInbound(t)
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.writeHead(500).end())
  const hook = await subscribe(app, { url: receiver.url, events: ['email.bounced'], format: 'postmark' })
  const signed = await subscribe(app, { url: receiver.url, events: ['email.bounced'], format: 'sendgrid' })
  await subscribe(app, { url: receiver.url, events: ['email.received'] })
  await app.waitUntilSettled(await sendEmail(app))
  await deliver(t, app)
  await waitUntil(
    'three failures',
    async () => (await app.rows('select 1 from webhook_deliveries where attempts = 1')).length === 3,
  )
  app.advance(61_000)
  await waitUntil('three retries', () => receiver.requests.length === 6)
  const bodiesWith = (word: string): readonly string[] =>
    receiver.requests.map(({ body }) => body).filter((body) => body.includes(word))
  t.equal(new Set(bodiesWith('RecordType')).size, 1)
  t.match(JSON.parse(bodiesWith('RecordType')[0] ?? ''), { ID: Number, Type: 'HardBounce', TypeCode: 1 })
  t.equal(new Set(bodiesWith('sg_event_id')).size, 1)
  const key = createPublicKey({
    key: Buffer.from(signed.verification_key ?? '', 'base64'),
    format: 'der',
    type: 'spki',
  })
  for (const { headers, body } of receiver.requests.filter((request) => request.body.includes('sg_event_id'))) {
    const [stamp, signature] = ['timestamp', 'signature'].map((name) => headers[`x-twilio-email-event-webhook-${name}`])
    t.ok(createVerify('sha256').update(`${stamp}${body}`).verify(key, String(signature), 'base64'))
  }
  const received = bodiesWith('email.received').map((body) => JSON.parse(body) as { id: string; data: Fields })
  t.equal(new Set(received.map(({ id }) => id)).size, 1)
  t.equal(new Set(received.map(({ data }) => data['raw_url'])).size, 2, 'a link is valid for an hour from its attempt')
  t.equal(hook.verification_key, null)
})

t.test('credentials and header fields are sent, and shown nowhere', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  const path = receiver.url.replace('http://', '')
  const headers = { 'X-Token': 'hidden-token' }
  const created = await subscribe(app, { url: `http://me:hidden-pass@${path}`, events: ['email.sent'], headers })
  t.match(created, { url: `http://***:***@${path}`, headers: { 'X-Token': '***' } })
  const hookPath = `/v1/webhooks/${created.id}`
  const changed = await app.rest('PATCH', hookPath, { body: { url: created.url, headers: created.headers } })
  t.match(
    changed.json(),
    { url: `http://***:***@${path}`, headers: { 'X-Token': '***' } },
    'a mask keeps what is stored',
  )
  await app.rest('POST', `${hookPath}/test`)
  await waitUntil('the test', () => receiver.requests.length === 1)
  t.match(receiver.requests[0]?.headers, {
    authorization: `Basic ${Buffer.from('me:hidden-pass').toString('base64')}`,
    'x-token': 'hidden-token',
  })
  await app.rest('PATCH', hookPath, { body: { url: receiver.url, headers: {} } })
  await app.rest('POST', `${hookPath}/test`)
  await waitUntil('another test', () => receiver.requests.length === 2)
  t.notOk(receiver.requests[1]?.headers.authorization)
  const log = await app.rest('GET', '/v1/audit-log')
  const shown = [log.text, changed.text, JSON.stringify(created), ...app.lines].join()
  for (const word of ['hidden-pass', 'hidden-token']) t.notMatch(shown, word)
  const refused = await app.rest('PATCH', hookPath, { body: { headers: { 'Content-Type': 'text/x', 'a b': 'c' } } })
  t.match(refused.status, 400)
  t.match(refused.text, /must not set Content-Type/)
})

t.test('a test is an event that the other service knows', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  const { id } = await subscribe(app, {
    url: receiver.url,
    events: ['email.delivered', 'email.received'],
    format: 'postmark',
  })
  for (const format of ['postmark', 'sendgrid', 'mailgun', 'resend', 'raw', 'posthorn']) {
    await app.rest('PATCH', `/v1/webhooks/${id}`, { body: { format } })
    const count = receiver.requests.length
    await app.rest('POST', `/v1/webhooks/${id}/test`)
    await waitUntil(format, () => receiver.requests.length === count + 1)
  }
  const bodies = receiver.requests.map(({ body }) => body)
  const words = [/"RecordType":"Delivery"/, /"event":"delivered"/, /"event":"delivered"/, /"type":"email.delivered"/]
  for (const [place, pattern] of [...words, /^Subject: This message tests/m, /"webhook.test"/].entries()) {
    t.match(bodies[place], pattern)
  }
})

/** A message of about so many bytes. */
function largeMail(size: number): string {
  const line = `${'x'.repeat(76)}\r\n`
  const header = [
    'From: ann@b.test',
    'To: info@home.test',
    'Subject: large',
    'Message-ID: <large@b.test>',
    '',
    '',
  ].join('\r\n')
  return header + line.repeat(Math.ceil(size / line.length))
}

t.test('a large message goes with a request up to a limit, and never holds the main thread', async (t) => {
  const app = await startInbound(t)
  const receiver = await webhookReceiver(t)
  const events = ['email.received']
  await subscribe(app, { url: `${receiver.url}/full`, events, content: 'raw' })
  await subscribe(app, { url: `${receiver.url}/form`, events, format: 'mailgun' })
  await subscribe(app, { url: `${receiver.url}/mail`, events, format: 'raw' })
  const { max: longest } = await longestTurn(async () => {
    idOfReply(await deliverInbound(t, app, { to: ['info@home.test'], raw: largeMail(20_000_000) }))
    await waitUntil('three requests', () => receiver.requests.length === 3)
  })
  t.comment(`the longest turn of this process, with sender, receiver and daemon: ${longest} ms`)
  const of = (path: string): ReceivedRequest | undefined => receiver.requests.find((it) => it.path.endsWith(path))
  const { data } = JSON.parse(of('/full')?.body ?? '') as { readonly data: { readonly raw: string } }
  const mail = of('/mail')?.body ?? ''
  t.ok(mail.length > 20_000_000)
  t.ok(Buffer.from(data.raw, 'base64').toString() === mail)
  t.ok(of('/form')?.body.includes(mail))
  idOfReply(await deliverInbound(t, app, { to: ['info@home.test'], raw: largeMail(27_000_000) }))
  await waitUntil('a request with links alone', () => receiver.requests.length === 4)
  const last = JSON.parse(receiver.requests[3]?.body ?? '') as { readonly data: Fields }
  t.match(last.data, { subject: 'large', raw_url: /^https:/ })
  t.notOk('raw' in last.data)
  await waitUntil(
    'the others are given up',
    async () => (await app.rows("select 1 from webhook_deliveries where status = 'failed'")).length === 2,
  )
  t.match(await app.rows("select error, attempts from webhook_deliveries where status = 'failed'"), [
    { error: /more than 26214400 bytes/, attempts: 0 },
    { error: /more than 26214400 bytes/, attempts: 0 },
  ])
  t.same(app.errors, [])
})

async function longestTurn(work: () => Promise<void>): Promise<{ readonly max: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  delay.disable()
  return { max: Math.round(delay.max / 1e6) }
}
