/** POST /emails and /emails/batch, from the request to the message that a sink receives. */
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { fingerprintOf } from '../../../../src/outbound/sending/idempotency.js'
import { addSuppression } from '../../../../src/records/suppressions/suppressions.js'
import { createRoute } from '../../../../src/servers/api/emails/create.js'
import { EmailAcceptance } from '../../../../src/servers/api/emails/email-acceptance.js'
import { emailRequest } from '../../../../src/servers/api/emails/email-request.js'
import type { StoredPartsDeps } from '../../../../src/servers/api/emails/stored-parts.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import type { Route } from '../../../../src/servers/api/http/route/route.js'
import { createKeylessPrincipal } from '../../../../src/workspaces/accounts/access/principal.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { withoutPixel } from '../../../helpers/mail/without-pixel.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }

interface Created {
  readonly id: string
  readonly from: string
  readonly to: readonly string[]
  readonly created_at: string
  readonly scheduled_for?: string
  readonly status?: string
  readonly suppressed?: readonly string[]
}
interface Batch {
  readonly data: readonly (Partial<Created> & { readonly error?: string; readonly index?: number })[]
  readonly success_count: number
  readonly error_count: number
}

async function appWithSink(t: Test, options: SinkOptions = {}): Promise<{ app: TestDaemon; sink: ScriptedSink }> {
  const sink = await openSink(options)
  t.teardown(() => sink.close())
  return { app: await testDaemon(t, { routes: { 'b.test': sink } }), sink }
}

async function sendEmail(app: TestDaemon, body: unknown): Promise<Created> {
  const answer = await app.rest('POST', '/v1/emails', { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Created>()
}

/** Puts an address on the workspace's suppression list. */
async function suppress(app: TestDaemon, address: string): Promise<void> {
  const about = { reason: 'manual', sourceEmailId: null, metadata: {}, at: app.now() } as const
  const { workspaceId } = app
  await app.daemon.database.commit([addSuppression({ workspaceId, email: parseAddress(address), ...about })])
}

const count = async (app: TestDaemon, table: 'emails' | 'idempotency'): Promise<number> =>
  (await app.rows<{ n: number }>(`select count(*) n from ${table}`))[0]?.n ?? 0

t.test('an email in the flat shape is answered at once and delivered completely', async (t) => {
  const { app, sink } = await appWithSink(t)
  const answer = await app.rest('POST', '/v1/emails', {
    body: {
      from: 'Größe & Co <App@A.test>',
      to: ['Bob <bob@b.test>', 'carol@B.test'],
      cc: 'dan@b.test',
      bcc: ['blind@b.test', 'bob@b.test'],
      reply_to: 'Help <help@a.test>',
      subject: 'Grüße 😀',
      html: '<p>Hello <img src="cid:logo"></p>',
      headers: { 'X-Campaign': 'spring', References: '<one@b.test> <two@b.test>' },
      attachments: [
        {
          filename: 'Größe.pdf',
          content: Buffer.from([0, 1, 255]).toString('base64'),
          content_type: 'application/pdf',
        },
        { filename: 'empty', content: '' },
      ],
      inline_images: [{ cid: 'logo', content: png.toString('base64') }],
      tags: [{ name: 'campaign', value: 'spring' }],
      tracking: { click: false },
      priority: 'high',
    },
  })
  t.equal(answer.status, 201)
  const { id, created_at, ...rest } = answer.json<Created>()
  const recipient_counts = {
    ...{ queued: 4, sent: 0, delivered: 0, bounced: 0, failed: 0, suppressed: 0, cancelled: 0, complained: 0 },
  }
  const forResend = { object: 'email', last_event: 'queued', scheduled_at: null }
  const expected = { from: 'App@a.test', to: ['bob@b.test', 'carol@b.test'], recipient_counts, ...forResend }
  t.same(rest, expected, 'nothing else')
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

  const story = await app.waitUntilSettled(id)
  t.match(story, {
    status: 'delivered',
    from: 'App@a.test',
    to: ['bob@b.test', 'carol@b.test'],
    cc: ['dan@b.test'],
    bcc: ['blind@b.test'],
    subject: 'Grüße 😀',
    tags: [{ name: 'campaign', value: 'spring' }],
    tracking: { open: true, click: false },
    priority: 'high',
  })
  t.same(
    sink.messages
      .flatMap(({ rcptTo }) => rcptTo)
      .map((to) => to.split('>')[0])
      .sort(),
    ['<blind@b.test', '<bob@b.test', '<carol@b.test', '<dan@b.test'],
  )
  for (const { raw } of sink.messages) {
    t.match(raw.toString(), `\r\nReceived: by mail.service.test with HTTPS id ${id};\r\n`)
    t.notMatch(raw.toString(), /blind|127\.0\.0\.1/)
  }
  const mail = await simpleParser(sink.messages[0]?.raw ?? '', { skipHtmlToText: true, skipImageLinks: true })
  t.match(mail.from, { value: [{ address: 'App@a.test', name: 'Größe & Co' }] })
  t.match(mail.to, { value: [{ address: 'bob@b.test', name: 'Bob' }, { address: 'carol@b.test' }] })
  t.match(mail.replyTo, { value: [{ address: 'help@a.test', name: 'Help' }] })
  t.same([mail.subject, mail.text, mail.messageId], ['Grüße 😀', 'Hello', `<${id}@mail.service.test>`])
  t.same([mail.headers.get('x-campaign'), mail.references], ['spring', ['<one@b.test>', '<two@b.test>']])
  t.match(mail.attachments, [
    { cid: 'logo', contentType: 'image/png', related: true, content: png },
    { filename: 'Größe.pdf', contentType: 'application/pdf', content: Buffer.from([0, 1, 255]) },
    { filename: 'empty', contentType: 'application/octet-stream', content: Buffer.alloc(0) },
  ])
})

t.test('the shape of objects produces the same email, and both may be mixed', async (t) => {
  const { app, sink } = await appWithSink(t)
  const { id, ...rest } = await sendEmail(app, {
    from: { address: 'app@a.test', name: 'App, Inc.' },
    to: [{ email_address: { address: 'bob@b.test', name: 'Bob' } }, 'carol@b.test'],
    cc: { email_address: { address: 'dan@b.test' } },
    reply_to: [{ email_address: { address: 'help@a.test' } }],
    subject: '',
    htmlbody: '<b>hello</b>',
    textbody: 'own text',
  })
  t.match(rest, { from: 'app@a.test', to: ['bob@b.test', 'carol@b.test'] })
  await app.waitUntilSettled(id)
  const mail = await simpleParser(sink.messages[0]?.raw ?? '', { skipHtmlToText: true })
  t.match(mail.from, { value: [{ address: 'app@a.test', name: 'App, Inc.' }] })
  t.match(mail.cc, { value: [{ address: 'dan@b.test' }] })
  t.same([withoutPixel(mail.html), mail.text], ['<b>hello</b>', 'own text'])
})

t.test('a local part in UTF-8 is sent by SMTPUTF8, a domain in UTF-8 as A-labels', async (t) => {
  const { app, sink } = await appWithSink(t, { extensions: ['8BITMIME', 'SMTPUTF8'] })
  const { id, to } = await sendEmail(app, { ...email, to: 'jürgen@b.test', cc: 'x@münchen.test' })
  t.same(to, ['jürgen@b.test'])
  await app.waitUntilAttempted(id)
  t.match(sink.messages, [{ mailFrom: /SMTPUTF8/, rcptTo: [/<jürgen@b\.test>/] }])
  t.match(sink.messages[0]?.raw.toString(), '\r\nCc: x@xn--mnchen-3ya.test\r\n')
})

t.test('a scheduled email is answered as such; a time in the past sends at once', async (t) => {
  const { app } = await appWithSink(t)
  const at = new Date(app.now() + 3_600_000)
  const waiting = await sendEmail(app, { ...email, scheduled_for: at.toISOString().replace('Z', '+00:00') })
  t.match(waiting, { status: 'scheduled', scheduled_for: at.toISOString() })
  t.equal((await app.findStory(waiting.id)).status, 'scheduled')
  const past = await sendEmail(app, { ...email, scheduled_for: '2020-01-01T00:00:00Z' })
  t.notOk('status' in past || 'scheduled_for' in past)
  t.equal((await app.waitUntilSettled(past.id)).status, 'delivered')
})

t.test('suppressed recipients are left out and named', async (t) => {
  const { app, sink } = await appWithSink(t)
  await suppress(app, 'gone@b.test')
  const tags = [
    { name: 'tag', value: 'a' },
    { name: 'campaign', value: 'spring' },
    { name: 'tag', value: 'b' },
  ]
  const some = await sendEmail(app, { ...email, tags, to: ['gone@b.test', 'bob@b.test'] })
  t.match(some, { to: ['gone@b.test', 'bob@b.test'], suppressed: ['gone@b.test'], status: 'queued' })
  await app.waitUntilSettled(some.id)
  t.match(sink.messages, [{ rcptTo: ['<bob@b.test>'] }])
  t.equal(sink.messages.length, 1)
  const events = await app.rest('GET', `/v1/emails/${some.id}/events?type=email.suppressed`)
  t.same(schemaCheck(app.daemon.routes)('GET /emails/:id/events', events), [])
  const { data } = events.json<{ data: { recipient: string; data: Record<string, unknown> }[] }>()
  t.match(data, [
    {
      type: 'email.suppressed',
      recipient: 'gone@b.test',
      data: {
        email_id: some.id,
        to: 'gone@b.test',
        reason: 'manual',
        tags: { tag: ['a', 'b'], campaign: 'spring' },
      },
    },
  ])
  t.equal(data.length, 1, 'and none for the other recipient')
  const none = await app.rest('POST', '/v1/emails', { body: { ...email, to: ['Gone@b.test'] } })
  t.equal(none.status, 422)
  t.match(none.json(), { error: { code: 'all_recipients_suppressed', details: { suppressed: ['Gone@b.test'] } } })
  t.equal(await count(app, 'emails'), 1)
})

t.test('requests that are refused', async (t) => {
  const { app } = await appWithSink(t)

  await t.test('a key or sender without permission gets the reason', async (t) => {
    const created = await app.cli(
      'key',
      'create',
      '--workspace',
      app.workspaceId,
      '--name',
      'reader',
      '--scopes',
      'read',
      '--json',
    )
    const { key } = created.json() as { readonly key: string }
    for (const path of ['/v1/emails', '/v1/emails/batch']) {
      const answer = await app.rest('POST', path, { key, body: email })
      t.match([answer.status, answer.json()], [403, { error: { code: 'insufficient_permissions' } }])
    }
    const foreign = await app.rest('POST', '/v1/emails', { key: app.otherKey, body: email })
    t.match([foreign.status, foreign.json()], [400, { error: { code: 'invalid_from_address' } }])
  })

  await t.test('all problems of a request are reported at once, missing fields first, then addresses', async (t) => {
    const wrong = {
      from: 'nobody',
      to: ['a@b.test', ''],
      priority: 'urgent',
      html: 'a',
      htmlbody: 'b',
      colour: 'red',
    }
    const answer = await app.rest('POST', '/v1/emails', { body: wrong })
    const { error } = answer.json<{
      error: { code: string; message: string; details: { errors: { field: string }[] } }
    }>()
    t.equal(error.code, 'missing_required_field')
    t.equal(error.message, 'subject: is required')
    const fields = error.details.errors.map(({ field }) => field)
    t.same(fields.sort(), ['colour', 'from', 'htmlbody', 'priority', 'subject', 'to[1]'])
    const next = await app.rest('POST', '/v1/emails', { body: { ...wrong, subject: 'a' } })
    t.match(next.json(), { error: { code: 'invalid_email_address' } })
  })

  await t.test('a very long list of problems is shortened', async (t) => {
    const answer = await app.rest('POST', '/v1/emails', {
      body: { ...email, to: Array(50).fill('x'), cc: Array(50).fill('x'), bcc: Array(50).fill('x') },
    })
    t.equal(answer.json<{ error: { details: { errors: unknown[] } } }>().error.details.errors.length, 100)
  })

  await t.test('a body that is too large is refused', async (t) => {
    const answer = await app.rest('POST', '/v1/emails', { body: { ...email, html: 'x'.repeat(15 * 1_048_576) } })
    t.match([answer.status, answer.json()], [413, { error: { code: 'payload_too_large' } }])
    const batch = await app.rest('POST', '/v1/emails/batch', {
      body: [{ ...email, html: 'x'.repeat(15 * 1_048_576) }, email],
    })
    t.match(batch.json(), { success_count: 1, data: [{ index: 0, error: /allowed: 15728640/ }, {}] })
  })
})

t.test('without disk space nothing new is accepted, and earlier answers are repeated', async (t) => {
  const { app } = await appWithSink(t)
  const { read } = app.daemon.database
  const headers = { 'idempotency-key': 'once' }
  const first = await app.rest('POST', '/v1/emails', { body: email, headers })
  const never = async (): Promise<never> => t.fail('it went on') as never
  const acceptance = new EmailAcceptance({
    read,
    composer: { compose: never },
    committer: { commit: never },
    storedParts: {} as StoredPartsDeps,
    hasDiskSpace: () => false,
    refusalOf: never,
  })
  const { run } = createRoute(acceptance, {} as Route)
  const principal = { ...createKeylessPrincipal(app.workspaceId) }
  const call = { principal, ownKey: null, params: {}, query: undefined, remoteAddress: '', now: app.now() }
  const body = parseInput(emailRequest, email)
  const fingerprint = () => fingerprintOf(['/emails', Buffer.from(JSON.stringify(email))])
  const refused = Promise.resolve().then(() => run({ ...call, body, fingerprint, header: () => undefined }))
  await t.rejects(refused, { name: 'Refusal', kind: 'storage-full' })
  t.same(await run({ ...call, body, fingerprint, header: () => 'once' }), {
    kind: 'text',
    status: 201,
    json: first.text,
    emails: [],
  })
})

t.test('an idempotency key repeats the first answer and refuses another body', async (t) => {
  const { app } = await appWithSink(t)
  const headers = { 'idempotency-key': 'order-1' }
  const first = await app.rest('POST', '/v1/emails', { body: email, headers })
  const second = await app.rest('POST', '/api/v1/emails', { body: email, headers })
  t.same([second.status, second.text], [201, first.text])
  const other = await app.rest('POST', '/v1/emails', { body: { ...email, text: 'another' }, headers })
  t.match([other.status, other.json()], [409, { error: { code: 'conflict' } }])
  const batch = await app.rest('POST', '/v1/emails/batch', { body: [email], headers })
  t.equal(batch.status, 409, "keys are the workspace's, not the route's")
  const wrong = await app.rest('POST', '/v1/emails', {
    body: { ...email, from: 'app@nobody.test' },
    headers: { 'idempotency-key': 'order-2' },
  })
  t.equal(wrong.status, 400)
  const mended = await app.rest('POST', '/v1/emails', { body: email, headers: { 'idempotency-key': 'order-2' } })
  t.equal(mended.status, 201, 'a refused request does not use up its key')
  t.equal(await count(app, 'emails'), 2)
  app.advance(24 * 3_600_000 + 1)
  const later = await app.rest('POST', '/v1/emails', { body: { ...email, text: 'another' }, headers })
  t.equal(later.status, 201, 'a day later it is a new key')
})

t.test('fifty equal concurrent requests send one email, and all get the same answer', async (t) => {
  const { app } = await appWithSink(t)
  for (const [path, body] of [
    ['/v1/emails', email],
    ['/v1/emails/batch', [email, email]],
  ] as const) {
    const request = { body, headers: { 'idempotency-key': path } }
    const answers = await Promise.all(Array.from({ length: 50 }, () => app.rest('POST', path, request)))
    t.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
    t.ok((answers[0]?.status ?? 500) < 300)
  }
  t.same([await count(app, 'emails'), await count(app, 'idempotency')], [3, 2])
})

t.test('a batch accepts the valid emails and reports the others, in order', async (t) => {
  const { app, sink } = await appWithSink(t)
  await suppress(app, 'gone@b.test')
  const body = [
    email,
    { ...email, from: 'app@nobody.test' },
    { ...email, to: 'nobody' },
    { ...email, to: ['gone@b.test', 'carol@b.test'] },
    { ...email, to: 'gone@b.test' },
    { ...email, template_id: 'none' },
    'text',
    { ...email, colour: 'red' },
  ]
  const answer = await app.rest('POST', '/v1/emails/batch', { body })
  t.equal(answer.status, 200)
  const { data, success_count, error_count } = answer.json<Batch>()
  t.same([success_count, error_count], [2, 6])
  t.match(data, [
    { from: 'app@a.test', to: ['bob@b.test'] },
    { index: 1, error: 'From app@nobody.test: nobody.test is not a verified domain of this workspace' },
    { index: 2, error: /^to: is not one mail address/ },
    { to: ['gone@b.test', 'carol@b.test'], suppressed: ['gone@b.test'], status: 'queued' },
    { index: 4, error: 'all recipients are on the suppression list' },
    { index: 5, error: 'no such template: none' },
    { index: 6 },
    { index: 7, error: 'colour: is not a known field' },
  ])
  for (const { id } of data) if (id !== undefined) await app.waitUntilSettled(id)
  t.equal(sink.messages.length, 2)
})

t.test('a batch without a valid email is answered, and its idempotency key may be used again', async (t) => {
  const { app } = await appWithSink(t)
  const headers = { 'idempotency-key': 'b' }
  const answer = await app.rest('POST', '/v1/emails/batch', { body: [{ ...email, to: 'x' }], headers })
  t.match([answer.status, answer.json()], [200, { success_count: 0, error_count: 1 }])
  t.equal((await app.rest('POST', '/v1/emails/batch', { body: [email], headers })).status, 200)
  t.equal(await count(app, 'emails'), 1)
})

t.test('a batch that exceeds the rest of a quota is refused completely', async (t) => {
  const plans = { few: { emails_per_month: 3 } }
  const app = await testDaemon(t, { settings: { limits: { plans } } })
  t.equal((await app.cli('workspace', 'set-plan', app.workspaceId, 'few')).status, 0)
  // Another process has changed it; the daemon notices within moments.
  const tooMany = await waitUntil('the plan is seen', async () => {
    const answer = await app.rest('POST', '/v1/emails/batch', {
      body: [email, email, { ...email, to: 'x' }, email, email],
    })
    return answer.status !== 200 && answer
  })
  t.match([tooMany.status, tooMany.json()], [402, { error: { code: 'insufficient_quota' } }])
  const before = await count(app, 'emails')
  t.equal((await app.rest('POST', '/v1/emails/batch', { body: [email, email, email, email] })).status, 402)
  const mostlyWrong = [email, email, { ...email, to: 'x' }, { ...email, to: 'x' }]
  t.equal(
    (await app.rest('POST', '/v1/emails/batch', { body: mostlyWrong })).status,
    402,
    'whatever is wrong with them',
  )
  t.equal(await count(app, 'emails'), before, 'none of it is stored')
})

t.test('a batch of a hundred emails is answered in order and delivered completely', async (t) => {
  const { app, sink } = await appWithSink(t)
  const body = Array.from({ length: 100 }, (_, n) => ({
    ...email,
    to: `r${n}@b.test`,
    html: '<p>hello</p>'.repeat(500),
  }))
  const answer = await app.rest('POST', '/v1/emails/batch', { body })
  const { data, success_count } = answer.json<Batch>()
  t.equal(success_count, 100)
  t.same(
    data.map(({ to }) => to?.[0]),
    body.map(({ to }) => to),
  )
  await sink.waitUntil(() => sink.messages.length === 100)
  t.same(app.errors, [])
})
