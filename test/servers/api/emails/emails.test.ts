/** Reading emails over REST: lists in both forms, one record, the message, and permissions. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import type { Json } from '../../../helpers/http/rest-client.js'
import { withoutReference } from '../../../helpers/mail/without-reference.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const hour = 3_600_000

const sink = await openSink({
  script: { rcpt: ({ line }) => (line.includes('<bad') ? '550 5.1.1 no such user' : '250 2.1.5 ok') },
})
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })

async function keyWith(scopes: string): Promise<string> {
  const answer = await app.cli(
    'key',
    'create',
    '--workspace',
    app.workspaceId,
    '--name',
    'k',
    '--scopes',
    scopes,
    '--json',
  )
  return (answer.json() as { key: string }).key
}

/** Straight into the database, due in an hour. */
async function storeEmail(raw: string, workspaceId = app.workspaceId): Promise<string> {
  const at = app.now()
  const scheduled = { workspaceId, to: 'bob@b.test', at, scheduledFor: at + hour, raw: Buffer.from(raw) }
  const { email, writes } = bulkEmail(scheduled)
  await app.daemon.database.commit(writes)
  return email.id
}

const noRecipients = {
  ...{ queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, suppressed: 0, cancelled: 0, complained: 0 },
}

t.test('emails are listed in two forms, both narrowed by status', async (t) => {
  const foreign = await storeEmail('x', app.otherWorkspaceId)
  const first = await app.submitAccepted({ to: ['bob@b.test', 'bad@b.test'] })
  const second = await app.submitAccepted({ to: ['bad@b.test'] })
  await app.waitUntilSettled(first)
  await app.waitUntilSettled(second)
  const third = await storeEmail('x')
  const get = async (query: string): Promise<Json> => {
    const answer = await app.rest('GET', `/v1/emails${query}`)
    t.equal(answer.status, 200, `${query}: ${answer.text}`)
    return answer.json()
  }
  const ids = async (query: string): Promise<string[]> =>
    ((await get(query)) as unknown as { data: { id: string }[] }).data.map(({ id }) => id)

  t.same(await ids(''), [third, second, first])
  t.same(Object.keys(await get('')), ['object', 'data', 'has_more'])
  const [sent] = (await get('?status=delivered'))['data'] as unknown as Record<string, unknown>[]
  t.match(sent, { id: first, created_at: iso, sent_at: iso })
  t.same(
    { ...sent, created_at: '', sent_at: '', message_id: '' },
    {
      id: first,
      from_email: 'app@a.test',
      from_name: 'App',
      to_emails: ['bob@b.test', 'bad@b.test'],
      subject: 'hello',
      status: 'delivered',
      recipient_counts: { ...noRecipients, delivered: 1, bounced: 1 },
      created_at: '',
      sent_at: '',
      ...{ message_id: '', from: 'app@a.test', to: ['bob@b.test', 'bad@b.test'], cc: [], bcc: [], reply_to: [] },
      ...{ last_event: 'delivered', scheduled_at: null },
    },
  )
  t.same(await ids('?limit=2'), [third, second])
  t.same(await ids('?limit=2&offset=2'), [first])
  t.same(await ids('?offset=10000000'), [])
  t.same(await ids('?status=cancelled'), [])

  const paged = await get('?per_page=2')
  t.match(paged, { success: true, meta: { total: 3, page: 1, page_size: 2, pages: 2 } })
  t.same(await ids('?page=2&per_page=2'), [first])
  t.same(await ids('?status=bounced'), [second, first], 'also the one of which one recipient is')
  const [item] = (await get('?page=1&status=bounced'))['data'] as unknown as Record<string, unknown>[]
  t.same(
    { ...item, created_at: '' },
    {
      ...{ id: second, from: 'app@a.test', to: ['bad@b.test'], subject: 'hello', status: 'bounced', created_at: '' },
      recipient_counts: { ...noRecipients, bounced: 1 },
    },
  )
  t.match(await get('?page=2&status=bounced'), { data: [], meta: { total: 2, page: 2, page_size: 50, pages: 1 } })
  t.match(await get('?page=1&status=failed'), { data: [], meta: { total: 0, pages: 0 } })
  t.notOk((await ids('?limit=100')).includes(foreign), 'nothing of another workspace')
})

t.test('an invalid list query is refused with its field', async (t) => {
  for (const [query, field] of [
    ['limit=101', 'limit'],
    ['limit=%2B5', 'limit'],
    ['offset=10000001', 'offset'],
    ['offset=1e3', 'offset'],
    ['page=200002&per_page=50', 'page'],
    ['page=1&limit=5', 'limit'],
    ['per_page=5&offset=0', 'offset'],
    ['status=suppressed', 'status'],
  ] as const) {
    const answer = await app.rest('GET', `/v1/emails?${query}`)
    t.match(answer.json(), { error: { code: 'validation_error', details: { errors: [{ field }] } } }, query)
  }
})

const letter = [
  'From: App <app@a.test>',
  'To: bob@b.test, bad-too@b.test',
  'Reply-To: help@a.test',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  'X-Campaign: =?utf-8?q?f=C3=BCr_alle?=',
  'X-Service-Tag: kind=letter',
  'X-Service-Priority: high',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>Grüße</p>',
  '--b',
  'Content-Type: text/csv; name=a.csv',
  'Content-Disposition: attachment; filename=a.csv',
  '',
  'a,b',
  '--b--',
  '',
].join('\r\n')

t.test('the record of an email has every field of the interface and no other', async (t) => {
  const id = await app.submitAccepted({ to: ['bob@b.test', 'bad-too@b.test', 'blind@b.test'], raw: letter })
  await app.waitUntilSettled(id)
  const answer = await app.rest('GET', `/v1/emails/${id}`)
  t.equal(answer.status, 200)
  const record = answer.json<Record<string, unknown>>()
  t.match(record, { message_id: /^<.+@mail\.service\.test>$/, created_at: iso, sent_at: iso, bounced_at: iso })
  const { object, last_event, scheduled_at, ...facts } = record
  t.same([object, last_event, scheduled_at], ['email', 'delivered', null])
  const { message_id, created_at, sent_at, delivered_at, bounced_at, recipients, ...others } = facts
  t.match([message_id, created_at, sent_at, delivered_at, bounced_at], [/./, iso, iso, iso, iso])
  t.same(others, {
    id,
    from: 'app@a.test',
    to: ['bob@b.test', 'bad-too@b.test'],
    cc: [],
    bcc: ['blind@b.test'],
    reply_to: ['help@a.test'],
    subject: 'Grüße',
    html: '<p>Grüße</p>',
    text: null,
    headers: { 'X-Campaign': 'für alle' },
    tags: [{ name: 'kind', value: 'letter' }],
    attachments: [{ filename: 'a.csv', content_type: 'text/csv', size: 3 }],
    tracking: { open: false, click: false },
    priority: 'high',
    template_id: null,
    status: 'delivered',
    recipient_counts: { ...noRecipients, delivered: 2, bounced: 1 },
    scheduled_for: null,
    opened_at: null,
    clicked_at: null,
  })
  const [bob, bad, blind] = recipients as Record<string, unknown>[]
  t.match(
    [bob, bad, blind],
    [
      { email: 'bob@b.test', status: 'delivered' },
      { email: 'bad-too@b.test', status: 'bounced', attempts: 1, last_response: /^550 5\.1\.1/, delivered_at: null },
      { email: 'blind@b.test', status: 'delivered' },
    ],
  )
  t.match(bob, { attempts: 1, mx: 'mx.b.test', next_attempt_at: null, delivered_at: iso })
  const attempt = {
    number: 1,
    at: iso,
    duration_ms: Number,
    mx: 'mx.b.test',
    outcome: 'delivered',
    reason: null,
    tls: null,
  }
  const log = (bob?.['attempt_log'] ?? []) as object[]
  t.match(log, [attempt])
  t.same(Object.keys(log[0] ?? {}).sort(), [...Object.keys(attempt), 'next_attempt_at', 'response'].sort())

  const explained = (await app.cli('explain', id, '--json')).json() as Record<string, unknown>
  t.same({ ...explained, recipients: [] }, { ...facts, recipients: [] }, 'explain --json prints the same record')
  t.match(explained['recipients'], [{ attempts: [{ number: 1, outcome: 'delivered' }] }, {}, {}])
})

t.test('what was requested over REST is what is read back', async (t) => {
  const base64 = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64')
  const asked = {
    to: ['carol@b.test'],
    cc: ['dan@b.test'],
    bcc: ['blind@b.test'],
    reply_to: ['help@a.test'],
    subject: 'Grüße 😀',
    html: '<p>Grüße <img src="cid:logo"></p>\n',
    text: 'Grüße\n\n',
    headers: {
      'X-Campaign': 'für alle',
      References: '<one@b.test> <two@b.test>',
      'X-Long': 'word '.repeat(1_600).trim(),
    },
    tags: [{ name: 'kind', value: 'letter' }],
    tracking: { open: true, click: false },
    priority: 'low',
  }
  const attachments = [
    { filename: 'Größe.pdf', content: base64(3), content_type: 'application/pdf' },
    { filename: 'data.bin', content: base64(100_000) },
  ]
  const inline_images = [{ cid: 'logo', content: base64(10) }]
  const body = { ...asked, from: 'App <app@a.test>', attachments, inline_images }
  const created = await app.rest('POST', '/v1/emails', { body })
  t.equal(created.status, 201, created.text)
  const id = created.json<{ id: string }>().id
  const record = (await app.rest('GET', `/v1/emails/${id}`)).json<Record<string, unknown>>()
  for (const [field, value] of Object.entries(asked)) t.same(record[field], value, field)
  t.match(record['attachments'], [
    { filename: 'Größe.pdf', content_type: 'application/pdf', size: 3 },
    { filename: 'data.bin', content_type: 'application/octet-stream', size: 100_000 },
    { size: 10 },
  ])
  const plain = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: 'carol@b.test', subject: 's', text: 'a line' },
  })
  const one = await app.rest('GET', `/v1/emails/${plain.json<{ id: string }>().id}`)
  t.match(one.json(), { html: null, text: 'a line', from: 'app@a.test' })
  t.same(one.json()['headers'], {})
})

t.test('the message is returned as it is sent, as long as it is stored', async (t) => {
  const id = await app.submitAccepted({ raw: letter })
  await app.waitUntilSettled(id)
  const answer = await app.rest('GET', `/v1/emails/${id}/raw`)
  t.equal(answer.status, 200)
  t.equal(answer.headers['content-type'], 'message/rfc822')
  t.match(answer.text, /^DKIM-Signature: /)
  t.equal(answer.text, withoutReference(sink.messages.at(-1)?.raw ?? Buffer.alloc(0)).toString())
  const waiting = await storeEmail(letter)
  t.equal((await app.rest('GET', `/v1/emails/${waiting}/raw`)).text, letter, 'unsigned before its first attempt')

  await app.daemon.database.commit([{ sql: 'delete from raw_messages where email_id = ?', parameters: [id] }])
  const gone = await app.rest('GET', `/v1/emails/${id}/raw`)
  t.match(gone.json(), {
    error: { code: 'email_not_found', status: 404, message: /no longer stored/, details: { id } },
  })
  const record = await app.rest('GET', `/v1/emails/${id}`)
  t.match(record.json(), { subject: 'Grüße', html: null, text: null, status: 'delivered' })
  t.same(record.json()['headers'], {})
  t.same(record.json()['attachments'], [])
})

t.test('an email is visible to its workspace, and to a send-only key if that key has sent it', async (t) => {
  const [sender, reader] = [await keyWith('send'), await keyWith('read')]
  const own = await app.submitAccepted({ key: sender })
  const others = await app.submitAccepted()
  const status = async (key: string, line: string): Promise<number> => {
    const [method = '', path = ''] = line.split(' ')
    return (await app.rest(method, path, { key })).status
  }
  for (const what of ['', '/raw']) {
    t.equal(await status(sender, `GET /v1/emails/${own}${what}`), 200)
    t.equal(await status(sender, `GET /v1/emails/${others}${what}`), 404)
    t.equal(await status(reader, `GET /v1/emails/${others}${what}`), 200)
    t.equal(await status(app.otherKey, `GET /v1/emails/${own}${what}`), 404)
  }
  t.equal(await status(sender, 'GET /v1/emails'), 403, 'the ids are not disclosed')
  t.equal(await status(sender, `POST /v1/emails/${others}/cancel`), 404)
  t.equal(await status(sender, `POST /v1/emails/${own}/cancel`), 409)
  t.equal(await status(reader, `POST /v1/emails/${own}/cancel`), 403)
  t.equal(await status(app.otherKey, `POST /v1/emails/${own}/cancel`), 404)
  const answer = await app.rest('GET', '/v1/emails/no%00thing')
  t.match(answer.json(), { error: { code: 'email_not_found', details: { id: /^no.*thing$/ } } })
})

t.test('a hostile message delays only its own requests', async (t) => {
  const bomb = await storeEmail(`Subject: slow\r\n\r\n${'\r\n'.repeat(4_000_000)}`)
  const broken = await storeEmail(`X-Long: ${'x'.repeat(1_100_000)}\r\n\r\na line\r\n`)
  const good = await storeEmail(letter, app.otherWorkspaceId)
  const done: string[] = []
  const get = async (id: string, key: string): Promise<Json> => {
    const answer = await app.rest('GET', `/v1/emails/${id}`, { key })
    done.push(id)
    t.equal(answer.status, 200)
    return answer.json()
  }
  const slow = [get(bomb, app.key), get(bomb, app.key)]
  t.match(await get(good, app.otherKey), { html: '<p>Grüße</p>' })
  t.equal(
    await app
      .submitAccepted()
      .then(app.waitUntilSettled)
      .then(({ status }) => status),
    'delivered',
    'mail goes on',
  )
  t.equal(done[0], good, 'who came last is answered first')
  await Promise.all(slow)
  t.match(await get(broken, app.key), { subject: 'bulk', html: null, text: null, attachments: [] })
  t.same(app.errors, [])
})
