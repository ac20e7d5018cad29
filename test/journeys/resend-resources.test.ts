/** Resend's own client library reads and changes everything else through the daemon. */
import { Resend } from 'resend'
import t from 'tap'
import { uuidv7 } from '../../src/base/platform/ids.js'
import { toJson } from '../../src/base/storage/tables/columns.js'
import { summarizeInbound } from '../../src/inbound/receiving/analysis/inbound-content.js'
import { markProcessed, storeInbound } from '../../src/records/messages/inbound/inbound-email.js'
import { openPlainApi } from '../helpers/http/plain-api.js'
import { inboundMail } from '../helpers/mail/inbound-mail.js'
import { parsedMessage } from '../helpers/parsed-message.js'

const { app, host } = await openPlainApi(t)
const baseUrl = `http://${host}`
const resend = new Resend(app.key, { baseUrl })

/** The data of an answer that is no error. */
async function dataOf<Data>(answer: Promise<{ readonly data: Data | null; readonly error: unknown }>): Promise<Data> {
  const { data, error } = await answer
  if (data === null) throw new Error(JSON.stringify(error))
  return data
}

const segment = await dataOf(resend.segments.create({ name: 'Customers' }))

t.test('domains', async (t) => {
  const made = await dataOf(
    resend.domains.create({ name: 'shop.test', region: 'eu-west-1', openTracking: false, clickTracking: true }),
  )
  t.match(made, {
    ...{ object: 'domain', name: 'shop.test', domain: 'shop.test', status: 'pending' },
    ...{ open_tracking: false, click_tracking: true, tracking: { open: false, click: true } },
    capabilities: { sending: 'enabled', receiving: 'disabled' },
  })
  t.match(
    made.records.map(({ record, type, ttl, status }) => [record, type, ttl, status]),
    [
      ['SPF', 'CNAME', 'Auto', 'pending'],
      ['DKIM', 'CNAME', 'Auto', 'pending'],
      ['DKIM', 'CNAME', 'Auto', 'pending'],
    ],
  )
  const { id } = made
  t.match(await dataOf(resend.domains.update({ id, openTracking: true })), {
    object: 'domain',
    id,
    open_tracking: true,
  })
  const unproved = { id, capabilities: { receiving: 'enabled' } } as const
  t.match((await resend.domains.update(unproved)).error, { name: 'domain_not_verified' })
  t.match((await resend.domains.update({ id, tls: 'enforced' })).error, { message: /^tls: allowed: opportunistic/ })
  t.match((await resend.domains.verify(id)).error, { name: /failed|timeout/, statusCode: Number })
  t.match(await dataOf(resend.domains.get(id)), { object: 'domain', name: 'shop.test', records: Array })
  const { data, has_more } = await dataOf(resend.domains.list({ limit: 1 }))
  t.match([data, has_more], [[{ name: 'a.test', status: 'verified', capabilities: { sending: 'enabled' } }], true])
  const after = await dataOf(resend.domains.list({ after: data[0]?.id ?? '' }))
  t.ok(after.data.some(({ name }) => name === 'shop.test'))
  t.notOk(after.data.some(({ name }) => name === 'a.test'))
  t.match(await dataOf(resend.domains.remove(id)), { object: 'domain', id, deleted: true })
  t.match((await resend.post('/domains', {})).error, { message: 'domain: is required' })
  t.match((await resend.post('/domains', { domain: 'b.test', name: 'b.test' })).error, {
    message: /^name: is another name/,
  })
})

t.test('API keys', async (t) => {
  const { data: domains } = await dataOf(resend.domains.list())
  const domain = domains.find(({ name }) => name === 'a.test')
  const request = { name: 'shop', permission: 'sending_access', domain_id: domain?.id ?? '' } as const
  const { id, token } = await dataOf(resend.apiKeys.create(request))
  const limited = new Resend(token, { baseUrl })
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  t.match(await dataOf(limited.emails.send(email)), { id: /./ })
  t.match((await limited.domains.list()).error, { name: 'insufficient_permissions', statusCode: 403 })
  const { data } = await dataOf(resend.apiKeys.list())
  t.match(
    data.find((one) => one.id === id),
    { name: 'shop', scopes: ['send'], allowed_domains: ['a.test'] },
  )
  t.match(await dataOf(resend.apiKeys.remove(id)), { id, deleted: true })
  t.match((await resend.apiKeys.create({ ...request, domain_id: 'nothing' })).error, { name: 'domain_not_found' })
  const both = { name: 'x', permission: 'full_access', scopes: ['full'] }
  t.match((await resend.post('/api-keys', both)).error, { message: /^permission: / })
  const domainsTwice = { name: 'x', domain_id: 'x', allowed_domains: ['a.test'] }
  t.match((await resend.post('/api-keys', domainsTwice)).error, { message: /^domain_id: / })
})

t.test('segments are audiences', async (t) => {
  const { id } = segment
  t.match(segment, { object: 'segment', name: 'Customers' })
  t.match((await app.rest('GET', `/v1/audiences/${id}`)).json(), { object: 'audience', name: 'Customers' })
  t.match(await dataOf(resend.segments.update(id, { name: 'Clients' })), { object: 'segment', id })
  t.match(await dataOf(resend.segments.get(id)), { object: 'segment', name: 'Clients', created_at: /Z$/ })
  const other = await dataOf(resend.audiences.create({ name: 'Others' }))
  const first = await dataOf(resend.segments.list({ limit: 1 }))
  t.match(first, { object: 'list', has_more: true, data: [{ id: other.id }] })
  const second = await dataOf(resend.segments.list({ limit: 1, after: other.id }))
  t.match(second, { has_more: false, data: [{ id }] })
  t.match(await dataOf(resend.audiences.remove(other.id)), { object: 'segment', id: other.id, deleted: true })
  t.match((await resend.segments.get(other.id)).error, { name: 'audience_not_found', statusCode: 404 })
})

t.test('contacts', async (t) => {
  const audienceId = segment.id
  const ann = { email: 'ann@b.test', firstName: 'Ann', unsubscribed: true }
  const made = await dataOf(resend.contacts.create({ ...ann, audienceId, properties: { plan: 'pro' } }))
  t.match(made, { object: 'contact', id: /./, metadata: { plan: 'pro' }, subscribed: false })
  t.match(await dataOf(resend.contacts.get({ audienceId, email: 'ann@b.test' })), {
    ...{ object: 'contact', id: made.id, first_name: 'Ann', last_name: null, unsubscribed: true },
  })
  const changed = await dataOf(resend.contacts.update({ email: 'ann@b.test', unsubscribed: false, lastName: 'Lee' }))
  t.match(changed, { object: 'contact', id: made.id, subscribed: true, last_name: 'Lee' })
  const bob = await dataOf(resend.contacts.create({ email: 'bob@b.test', segments: [{ id: audienceId }] }))
  const loose = await dataOf(resend.contacts.create({ email: 'loose@b.test' }))
  const page = await dataOf(resend.contacts.list({ segmentId: audienceId, limit: 1 }))
  t.match(page, { object: 'list', has_more: true, data: [{ id: bob.id, unsubscribed: false }] })
  const next = await dataOf(resend.contacts.list({ audienceId, limit: 1, after: bob.id }))
  t.match(next, { has_more: false, data: [{ id: made.id }] })
  t.equal((await dataOf(resend.contacts.list())).data.length, 3)
  const elsewhere = { audienceId, id: loose.id }
  t.match((await resend.contacts.get(elsewhere)).error, { name: 'contact_not_found', statusCode: 404 })
  t.match((await resend.contacts.get('nobody@b.test')).error, { name: 'contact_not_found' })
  t.match(await dataOf(resend.contacts.remove({ audienceId, email: 'bob@b.test' })), { deleted: true, contact: bob.id })
  const twice = { email: 'x@b.test', subscribed: true, unsubscribed: false }
  t.match((await resend.post('/contacts', twice)).error, { message: /^unsubscribed: / })
  const named = { email: 'x@b.test', metadata: {}, properties: {} }
  t.match((await resend.post('/contacts', named)).error, { message: /^properties: / })
  const segments = [{ id: audienceId }, { id: loose.id }]
  t.match((await resend.contacts.create({ email: 'x@b.test', segments })).error, { message: /one audience/ })
  const absent = await resend.contacts.create({ email: 'x@b.test', audienceId: loose.id })
  t.match(absent.error, { name: 'audience_not_found' })
})

t.test('webhooks', async (t) => {
  const endpoint = 'https://hooks.shop.test/mail'
  const made = await dataOf(resend.webhooks.create({ endpoint, events: ['email.bounced', 'email.delivery_delayed'] }))
  t.match(made, { events: ['email.bounced', 'email.deferred'], format: 'resend' })
  t.match(made, { object: 'webhook', id: /^wh_/, signing_secret: /^whsec_/, url: endpoint })
  const { id } = made
  t.match(await dataOf(resend.webhooks.update(id, { status: 'disabled' })), { object: 'webhook', id, enabled: false })
  t.match(await dataOf(resend.webhooks.get(id)), { object: 'webhook', endpoint, status: 'disabled' })
  const { id: newest } = await dataOf(resend.webhooks.create({ endpoint, events: ['email.sent'] }))
  t.match(await dataOf(resend.webhooks.list({ limit: 1 })), { object: 'list', has_more: true, data: [{ id: newest }] })
  t.match(await dataOf(resend.webhooks.list({ after: newest })), { has_more: false, data: [{ id, endpoint }] })
  t.same((await dataOf(resend.webhooks.list({ after: 'nothing' }))).data, [])
  t.match(await dataOf(resend.webhooks.remove(id)), { object: 'webhook', id, deleted: true })
  t.match((await resend.post('/webhooks', { events: ['email.sent'] })).error, { message: 'url: is required' })
  const both = { url: endpoint, endpoint, events: ['email.sent'] }
  t.match((await resend.post('/webhooks', both)).error, { message: /^endpoint: is another name/ })
})

t.test('templates', async (t) => {
  const given = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{{NAME}}}', html: '<p>{{{NAME}}}</p>' }
  const variables = [{ key: 'NAME', type: 'string' }] as const
  const made = await dataOf(resend.templates.create({ ...given, variables: [...variables] }).publish())
  const { id } = made
  t.match(made, { object: 'template', id: /./ })
  t.match(await dataOf(resend.templates.get('welcome')), {
    object: 'template',
    id,
    status: 'published',
    alias: 'welcome',
  })
  t.match(await dataOf(resend.templates.update('welcome', { subject: 'Hi' })), {
    object: 'template',
    id,
    subject: 'Hi',
  })
  const second = await dataOf(Promise.resolve(resend.templates.create({ ...given, alias: 'second' })))
  const page = await dataOf(resend.templates.list({ limit: 1 }))
  t.match(page, { object: 'list', has_more: true, data: [{ id: second.id, status: 'published' }] })
  t.match(await dataOf(resend.templates.list({ limit: 1, after: second.id })), { has_more: false, data: [{ id }] })
  const fallback = [{ key: 'NAME', type: 'string', fallbackValue: 'you' }] as const
  const refused = await resend.templates.create({ ...given, alias: 'third', variables: [...fallback] })
  t.match(refused.error, { message: /fallback_value: .*\{\{name\|default\}\}/ })
  t.match((await resend.templates.publish('missing')).error, { name: 'template_not_found', statusCode: 404 })
  t.match(await dataOf(resend.templates.remove('welcome')), { object: 'template', id, deleted: true })
})

t.test('broadcasts', async (t) => {
  const given = { segmentId: segment.id, from: 'News <news@a.test>', subject: 'News', html: '<p>Hello</p>' }
  const { id } = await dataOf(resend.broadcasts.create({ ...given, topicId: 'news' }))
  t.match(await dataOf(resend.broadcasts.get(id)), {
    ...{ object: 'broadcast', id, name: 'News', segment_id: segment.id, audience_id: segment.id, status: 'draft' },
    ...{ scheduled_at: null, sent_at: null, html: '<p>Hello</p>' },
  })
  t.match(await dataOf(resend.broadcasts.update(id, { name: 'May', segmentId: segment.id })), { id, name: 'May' })
  const at = new Date(app.now() + 3_600_000).toISOString()
  t.match((await resend.broadcasts.send(id, { scheduledAt: 'in 1 hour' })).error, { message: /compute the time/ })
  t.match(await dataOf(resend.broadcasts.send(id, { scheduledAt: at })), { id, status: 'scheduled', scheduled_at: at })
  const later = await dataOf(resend.broadcasts.create({ ...given, name: 'June', send: true, scheduledAt: at }))
  t.match(await dataOf(resend.broadcasts.get(later.id)), { name: 'June', status: 'scheduled', scheduled_at: at })
  const page = await dataOf(resend.broadcasts.list({ limit: 1 }))
  t.match(page, { object: 'list', has_more: true, data: [{ id: later.id, segment_id: segment.id }] })
  t.match(await dataOf(resend.broadcasts.list({ after: later.id })), { has_more: false, data: [{ id }] })
  t.match(await dataOf(resend.broadcasts.cancel(id)), { object: 'broadcast', id, status: 'cancelled' })
  const unsendable = await resend.broadcasts.create({ ...given, from: 'news@elsewhere.test', send: true })
  t.match(unsendable.error, { name: 'invalid_from_address' })
  t.equal((await dataOf(resend.broadcasts.list())).data.length, 2, 'a broadcast that cannot be sent does not stay')
  t.match((await resend.post('/broadcasts', { ...given, scheduled_at: at })).error, { statusCode: 400 })
  t.match(await dataOf(resend.broadcasts.remove(id)), { object: 'broadcast', id, deleted: true })
  const none = { from: 'news@a.test', subject: 'News', html: '<p>Hello</p>' }
  t.match((await resend.post('/broadcasts', none)).error, { message: 'audience_id: is required' })
  const two = { ...none, audience_id: segment.id, segment_id: segment.id }
  t.match((await resend.post('/broadcasts', two)).error, { message: /^segment_id: is another name/ })
})

t.test('suppressions', async (t) => {
  const added = await dataOf(resend.suppressions.add({ email: 'gone@b.test' }))
  const { id } = added
  t.match(added, { object: 'suppression', id: /./ })
  t.match(await dataOf(resend.suppressions.get('gone@b.test')), {
    object: 'suppression',
    id,
    origin: 'manual',
    source_id: null,
  })
  const other = await dataOf(resend.suppressions.add({ email: 'also@b.test' }))
  const page = await dataOf(resend.suppressions.list({ origin: 'manual', limit: 1 }))
  t.match(page, { object: 'list', has_more: true, data: [{ id: other.id, email: 'also@b.test' }] })
  t.match(await dataOf(resend.suppressions.list({ limit: 1, after: other.id })), { has_more: false, data: [{ id }] })
  t.same((await dataOf(resend.suppressions.list({ origin: 'bounce' }))).data, [])
  t.match(await dataOf(resend.suppressions.remove('gone@b.test')), { object: 'suppression', id, deleted: true })
  t.match((await resend.suppressions.get('gone@b.test')).error, { name: 'not_found', statusCode: 404 })
})

const raw = Buffer.from(
  [
    ...['From: Bob <bob@b.test>', 'To: info@a.test', 'Reply-To: Help <help@b.test>', 'Subject: hello'],
    ...['Message-ID: <1@b.test>', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=x', ''],
    ...['--x', 'Content-Type: text/plain', '', 'a line', '--x', 'Content-Type: text/csv; name=a.csv'],
    ...['Content-Disposition: attachment; filename=a.csv', '', 'a,b', '--x--', ''],
  ].join('\r\n'),
)

t.test('received emails', async (t) => {
  const at = app.now()
  const ids = [uuidv7(at), uuidv7(at + 1)] as const
  for (const [place, id] of ids.entries()) {
    const of = { id, workspace_id: app.workspaceId }
    const content = { ...summarizeInbound(parsedMessage(raw, { text: 'text' })), attachment_count: 1 }
    const spam = { spam_status: 'clean', spam_score: 0, spam_report: toJson([]) } as const
    await app.daemon.database.commit([
      ...storeInbound(inboundMail({ ...of, received_at: at + place }), raw),
      markProcessed({ ...of, at, ...content, ...spam }),
    ])
  }
  const [id, newest] = ids
  const page = await dataOf(resend.emails.receiving.list({ limit: 1 }))
  t.match(page, {
    object: 'list',
    has_more: true,
    data: [{ id: newest, from: 'bob@b.test', subject: 'hello', attachments: [] }],
  })
  const next = await dataOf(resend.emails.receiving.list({ limit: 1, after: newest }))
  t.match(next, { has_more: false, data: [{ id, message_id: '<1@b.test>' }] })
  t.match(await dataOf(resend.emails.receiving.get(id, { html_format: 'cid' })), {
    ...{ object: 'email', id, to: ['info@a.test'], reply_to: ['help@b.test'], text: /^a line/, html: null },
    raw: { download_url: /^https:.*\/raw\/download\?/, expires_at: /Z$/ },
    headers: { subject: 'hello' },
    attachments: [{ id: `${id}.0`, filename: 'a.csv', content_type: 'text/csv' }],
  })
  const files = await dataOf(resend.emails.receiving.attachments.list({ emailId: id }))
  t.match(files, { object: 'list', has_more: false, data: [{ id: `${id}.0`, download_url: /^https:/ }] })
  const one = await dataOf(resend.emails.receiving.attachments.get({ emailId: id, id: `${id}.0` }))
  t.match(one, { object: 'attachment', filename: 'a.csv', size: 3 })
  const missing = await resend.emails.receiving.attachments.get({ emailId: id, id: 'x' })
  t.match(missing.error, { name: 'not_found', statusCode: 404 })
  t.match((await resend.emails.receiving.get('nothing')).error, { name: 'not_found', statusCode: 404 })
})

t.test('what is not served is refused in the form of the library', async (t) => {
  const answers = [
    resend.topics.list(),
    resend.contactProperties.list(),
    resend.automations.list(),
    resend.logs.list(),
    resend.inboxes.list(),
    resend.emails.share('nothing'),
    resend.emails.metrics(),
    resend.broadcasts.duplicate('nothing'),
    resend.suppressions.batch.add({ emails: ['x@b.test'] }),
  ]
  for (const answer of answers) {
    const { error } = await answer
    t.match(error, { name: /not_found|method_not_allowed/, message: /./, statusCode: /40[45]/ })
  }
})

t.test('without resend in api.compatible the paths that only Resend has are off', async (t) => {
  const other = await openPlainApi(t, { compatible: ['postmark'] })
  const client = new Resend(other.app.key, { baseUrl: `http://${other.host}` })
  t.match((await client.segments.list()).error, { name: 'not_found', message: /api\.compatible/ })
  t.match((await client.emails.receiving.list()).error, { statusCode: 404 })
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  t.match(await dataOf(client.emails.send(email)), { id: /./ })
})
