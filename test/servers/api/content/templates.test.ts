/**
 * Templates and cached files over REST, and the messages made of them.
 *
 * Most tests share a daemon and its sink; tests that inspect everything stored have their own.
 */
import { type ParsedMail, simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { storeInbound } from '../../../../src/records/messages/inbound/inbound-email.js'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import type { Json, RestAnswer } from '../../../helpers/http/rest-client.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'
import { openSink, type ScriptedSink } from '../../../helpers/smtp/scripted-sink.js'

const MB = 1_048_576
const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const email = { from: 'App <app@a.test>', to: 'bob@b.test' }

async function appWithSink(t: Test): Promise<{ app: TestDaemon; sink: ScriptedSink }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  return { app: await testDaemon(t, { routes: { 'b.test': sink } }), sink }
}

const { app, sink } = await appWithSink(t)

function form(content: Buffer, type: string | null): Buffer {
  const about = type === null ? '' : `Content-Type: ${type}\r\n`
  return Buffer.concat([
    Buffer.from(`--xyz\r\nContent-Disposition: form-data; name="file"; filename="theirs.bin"\r\n${about}\r\n`),
    content,
    Buffer.from('\r\n--xyz--\r\n'),
  ])
}

interface Uploading {
  readonly key?: string
  readonly type?: string | null
}

function upload(app: TestDaemon, name: string, content: Buffer, { key = app.key, type = null }: Uploading = {}) {
  const headers = { 'content-type': 'multipart/form-data; boundary=xyz' }
  return app.rest('POST', `/v1/files?name=${encodeURIComponent(name)}`, { key, headers, body: form(content, type) })
}

async function uploadFile(app: TestDaemon, name: string, content: Buffer, about: Uploading = {}): Promise<string> {
  const answer = await upload(app, name, content, about)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<{ readonly data: { readonly file_cache_key: string } }>().data.file_cache_key
}

async function createTemplate(app: TestDaemon, template: object, key = app.key): Promise<string> {
  const answer = await app.rest('POST', '/v1/templates', { key, body: template })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

const post = (app: TestDaemon, body: object): Promise<RestAnswer> => app.rest('POST', '/v1/emails', { body })

/** The id of an email that the sink has accepted. */
async function sendEmail(app: TestDaemon, body: object): Promise<string> {
  const answer = await post(app, body)
  if (answer.status !== 201) throw new Error(answer.text)
  const { id } = answer.json<{ readonly id: string }>()
  await app.waitUntilSettled(id)
  return id
}

/** Sends an email and returns what the sink received. */
async function sendAndParse(
  app: TestDaemon,
  sink: ScriptedSink,
  body: object,
): Promise<ParsedMail & { readonly id: string }> {
  const id = await sendEmail(app, body)
  return { ...(await simpleParser(sink.messages.at(-1)?.raw ?? '')), id }
}

const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const refusal = (answer: RestAnswer): readonly unknown[] => [answer.status, error(answer).code]

t.test('a template is created, listed, read, updated and deleted', async (t) => {
  const { app } = await appWithSink(t)
  const newTemplate = { name: 'Welcome', subject: 'Hi {{first_name}}', html: '<p>{{first_name}} {{user.city}}</p>' }
  const answer = await app.rest('POST', '/v1/templates', { body: newTemplate })
  const { id, created_at, ...fields } = answer.json()
  t.equal(answer.status, 201)
  const isPublished = { object: 'template', status: 'published' }
  t.same(fields, {
    ...newTemplate,
    ...isPublished,
    alias: null,
    text: null,
    blocks: null,
    variables: ['first_name', 'user.city'],
  })
  t.match([id, created_at], [/^[0-9a-f-]{36}$/, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/])

  const listed = { variables: ['plan', 'first_name', 'plan', 'unsubscribe_url'] }
  const second = await createTemplate(app, { name: 'Second', subject: '{{first_name}} {{last}}', text: 't', ...listed })
  const list = await app.rest('GET', '/v1/templates')
  const record = {
    ...isPublished,
    id,
    ...newTemplate,
    alias: null,
    text: null,
    blocks: null,
    variables: ['first_name', 'user.city'],
    created_at,
    updated_at: created_at,
  }
  const { data } = list.json<{ readonly data: readonly Json[] }>()
  t.match(data, [{ id: second, html: null, text: 't', variables: ['plan', 'first_name', 'last'] }, record])
  t.same(data[1], record)
  t.same(
    (await app.rest('GET', '/v1/templates?limit=1&offset=1'))
      .json<{ data: readonly Json[] }>()
      .data.map((one) => one['id']),
    [id],
  )
  t.same((await app.rest('GET', `/v1/templates/${String(id)}`)).json(), record)

  app.advance(5_000)
  const changed = await app.rest('PATCH', `/v1/templates/${String(id)}`, { body: { html: null, text: '{{other}}' } })
  t.equal(changed.status, 200)
  const after = { ...record, html: null, text: '{{other}}', variables: ['first_name', 'other'] }
  t.match(changed.json(), { ...after, updated_at: /Z$/ })
  t.not(changed.json()['updated_at'], created_at)
  t.same((await app.rest('GET', `/v1/templates/${String(id)}`)).json(), changed.json())
  const other = await app.rest('PATCH', `/v1/templates/${second}`, { body: { subject: 's', name: 'Third' } })
  t.match(other.json(), { name: 'Third', subject: 's', text: 't', variables: ['plan', 'first_name'] })
  const bare = await app.rest('PATCH', `/v1/templates/${second}`, { body: { variables: null } })
  t.match(bare.json(), { variables: [] })

  const removed = await app.rest('DELETE', `/v1/templates/${String(id)}`)
  t.same([removed.status, removed.json()], [200, { object: 'template', deleted: true, id }])
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const gone = await app.rest(method, `/v1/templates/${String(id)}`, method === 'PATCH' ? { body: {} } : {})
    t.same([refusal(gone), error(gone).details?.['id']], [[404, 'template_not_found'], id])
  }
  t.same(app.errors, [])
})

t.test('two concurrent updates are both kept', async (t) => {
  const id = await createTemplate(app, { name: 'n', subject: 's', text: 't' })
  const changes = [{ name: 'new' }, { subject: '{{a}}' }, { html: '{{b}}' }, { text: '{{c}}' }]
  await Promise.all(changes.map((body) => app.rest('PATCH', `/v1/templates/${id}`, { body })))
  const found = (await app.rest('GET', `/v1/templates/${id}`)).json()
  t.match(found, { name: 'new', subject: '{{a}}', html: '{{b}}', text: '{{c}}', variables: ['a', 'b', 'c'] })
})

t.test('an invalid template is refused with its field', async (t) => {
  const { app } = await appWithSink(t)
  const good = { name: 'n', subject: 's', text: 't' }
  const rows: readonly (readonly [body: object, code: string, field: string])[] = [
    [{ ...good, name: '' }, 'validation_error', 'name'],
    [{ ...good, subject: 'a\r\nBcc: x@x.test' }, 'validation_error', 'subject'],
    [{ ...good, subject: 'x'.repeat(999) }, 'validation_error', 'subject'],
    [{ ...good, html: 5 }, 'validation_error', 'html'],
    [{ ...good, html: 'x'.repeat(MB + 1) }, 'validation_error', 'html'],
    [{ ...good, text: 'ä'.repeat(MB / 2 + 1) }, 'validation_error', 'text'],
    [{ ...good, variables: 'a' }, 'validation_error', 'variables'],
    [{ ...good, variables: ['a', 5] }, 'validation_error', 'variables[1]'],
    [{ ...good, text: Array.from({ length: 1001 }, (_, n) => `{{v${n}}}`).join('') }, 'validation_error', 'variables'],
    [{ ...good, text: Array.from({ length: 1001 }, (_, n) => `{{v|${n}}}`).join('') }, 'validation_error', 'variables'],
    [
      { ...good, variables: Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(700, 'x')) },
      'validation_error',
      'variables',
    ],
  ]
  for (const [body, code, field] of rows) {
    const { code: found, details } = error(await app.rest('POST', '/v1/templates', { body }))
    t.match([found, details], [code, { errors: [{ field }] }], field)
  }
  t.equal((await app.rest('GET', '/v1/templates')).text, '{"object":"list","data":[],"has_more":false}')
})

t.test('a page of the list is bounded in bytes of bodies', async (t) => {
  const { app } = await appWithSink(t)
  for (let n = 0; n < 10; n += 1) await createTemplate(app, { name: String(n), subject: 's', text: 'x'.repeat(MB - n) })
  const { data } = (await app.rest('GET', '/v1/templates')).json<{ readonly data: readonly Json[] }>()
  t.same(
    data.map(({ name, text }) => [name, text === null]),
    Array.from({ length: 10 }, (_, n) => [String(9 - n), n >= 8]),
  )
})

t.test('a preview shows what a send would produce, and sends nothing', async (t) => {
  const id = await createTemplate(app, {
    name: 'n',
    subject: 'Hi {{n}}',
    html: '<a href="{{unsubscribe_url}}">{{n}}</a>',
  })
  const render = (body: object) => app.rest('POST', `/v1/templates/${id}/render`, { body })
  const shown = await render({ template_data: { n: '<B>\n' } })
  const link = 'https://mail.service.test/v1/unsubscribe/preview'
  t.same(shown.json(), { subject: 'Hi <B>', html: `<a href="${link}">&lt;B&gt;\n</a>`, text: null })
  const lacking = await render({})
  t.same(refusal(lacking), [400, 'invalid_template_variables'])
  t.match(error(lacking).details, { variables: ['n'], errors: [{ field: 'template_data.n' }] })
  t.same(refusal(await render({ template_data: { n: 'x'.repeat(16 * MB) } })), [413, 'payload_too_large'])
  t.same(refusal(await render({ template_data: ['x'] })), [400, 'validation_error'])
  t.same(refusal(await app.rest('POST', '/v1/templates/x/render', { body: {} })), [404, 'template_not_found'])
  t.same([sink.messages.length, await app.rows('select 1 from emails')], [0, []])
})

t.test('a send by template takes its subject and bodies, in both request shapes', async (t) => {
  const template_id = await createTemplate(app, {
    name: 'n',
    subject: 'Grüße, {{name}}',
    html: '<p>{{name}} owes {{{sum}}}</p>',
    text: '{{name}} owes {{sum}}',
  })
  const template_data = { name: 'Bob & Söhne', sum: '<5€' }
  const nested = { from: { address: 'app@a.test' }, to: [{ email_address: { address: 'bob@b.test' } }] }
  for (const shape of [email, nested, { ...email, subject: 'mine', html: 'mine', text: 'mine' }]) {
    const mail = await sendAndParse(app, sink, { ...shape, template_id, template_data })
    t.match(mail, {
      subject: 'Grüße, Bob & Söhne',
      html: /<p>Bob &amp; Söhne owes <5€<\/p>/,
      text: /^Bob & Söhne owes <5€/,
    })
    t.match((await app.rest('GET', `/v1/emails/${mail.id}`)).json(), { template_id, subject: mail.subject })
  }
  await app.rest('PATCH', `/v1/templates/${template_id}`, { body: { subject: 'new', html: '<p>only</p>', text: null } })
  t.match(
    await sendAndParse(app, sink, { ...email, template_id }),
    { subject: 'new', text: /^only/ },
    'the new one counts at once',
  )
  await app.rest('DELETE', `/v1/templates/${template_id}`)
  const gone = await post(app, { ...email, template_id })
  t.same([refusal(gone), error(gone).details], [[404, 'template_not_found'], { id: template_id }])
})

t.test('a send that its template cannot serve is refused, alone and in a batch', async (t) => {
  const template_id = await createTemplate(app, { name: 'n', subject: '{{a}}', text: '{{b.c}} {{a}}' })
  const empty = await createTemplate(app, { name: 'n', subject: 's' })
  const emails = async (): Promise<number> => (await app.rows('select 1 from emails')).length
  const before = { emails: await emails(), taken: sink.messages.length }
  const theirs = await createTemplate(app, { name: 'n', subject: 's', text: 't' }, app.otherKey)
  const lacking = await post(app, { ...email, template_id, template_data: { b: { c: null } } })
  t.same(refusal(lacking), [400, 'invalid_template_variables'])
  t.match(error(lacking).details, { template_id, variables: ['a', 'b.c'] })
  t.match(error(await post(app, { ...email, template_id: empty })), {
    code: 'validation_error',
    details: { errors: [{ field: 'template_id', value: empty }] },
  })
  t.same(refusal(await post(app, { ...email, template_id: theirs })), [404, 'template_not_found'])
  const items = [
    { ...email, template_id, template_data: { a: 'x', b: { c: 'y' } } },
    { ...email, template_id },
    { ...email, template_id: theirs },
    { ...email, template_id: empty },
  ]
  const batch = await app.rest('POST', '/v1/emails/batch', { body: items })
  t.match(
    [batch.status, batch.json()],
    [
      200,
      {
        success_count: 1,
        error_count: 3,
        data: [
          { to: ['bob@b.test'] },
          { index: 1, error: 'template_data has no value for: a, b.c' },
          { index: 2, error: `no such template: ${theirs}` },
          { index: 3, error: 'template_id: the template has neither html nor text' },
        ],
      },
    ],
  )
  await sink.waitUntil(() => sink.messages.length === before.taken + 1)
  t.equal(await emails(), before.emails + 1)
  t.same(app.errors, [])
})

t.test('a batch that would expand a small request too much is refused, even if no email of it is valid', async (t) => {
  const template_id = await createTemplate(app, { name: 'n', subject: 's', text: '{{a}}'.repeat(5_000) })
  const one = { ...email, from: 'app@nobody.test', template_id, template_data: { a: 'x'.repeat(2_000) } }
  const batch = await app.rest('POST', '/v1/emails/batch', { body: Array.from({ length: 100 }, () => one) })
  t.same(refusal(batch), [413, 'payload_too_large'])
})

t.test('a file is stored under its own key, with the type of its part or of its name', async (t) => {
  const rows: readonly (readonly [name: string, said: string | null, type: string])[] = [
    ['bill.pdf', null, 'application/pdf'],
    ['bill.pdf', 'application/octet-stream', 'application/pdf'],
    ['bill.pdf', 'text/x-odd; charset=utf-8', 'text/x-odd'],
    ['Größe', 'application/octet-stream', 'application/octet-stream'],
    ['x.png', 'multipart/mixed', 'image/png'],
  ]
  for (const [name, type, content_type] of rows) {
    const answer = await upload(app, name, png, { type })
    const { message, data } = answer.json<{ message: string; data: Json }>()
    t.match([answer.status, message], [200, /./])
    t.match(data, { file_cache_key: /^file_[\w-]{43}$/, name, size: png.length, content_type, created_at: /Z$/ })
    t.equal(Object.keys(data).length, 5)
  }
  t.equal((await upload(app, 'empty', Buffer.alloc(0))).status, 200)
  for (const path of ['/v1/files', '/v1/files?name=', '/v1/files?name=a%0Ab', `/v1/files?name=${'x'.repeat(256)}`]) {
    const headers = { 'content-type': 'multipart/form-data; boundary=xyz' }
    t.equal((await app.rest('POST', path, { headers, body: form(png, null) })).status, 400, path)
  }
  t.same(app.errors, [])
})

t.test('10 MB are stored completely; one byte more is refused and leaves nothing', async (t) => {
  const large = Buffer.alloc(10 * MB, Buffer.from(Array.from({ length: 251 }, (_, at) => at)))
  const stored = (): Promise<unknown> =>
    app.rows(
      'select count(*) n, (select bytes from cached_file_totals) bytes, (select count(*) from cached_file_chunks) chunks from cached_files',
    )
  const file_cache_key = await uploadFile(app, 'large.bin', large)
  const before = await stored()
  await sendEmail(app, { ...email, subject: 's', text: 't', attachments: [{ file_cache_key }] })
  const raw = String(sink.messages.at(-1)?.raw)
  // A regular expression over megabytes of one class runs out of its stack.
  const begin = raw.indexOf('\r\n\r\n', raw.indexOf('filename=large.bin')) + 4
  const base64 = raw.slice(begin, raw.indexOf('\r\n--', begin))
  t.ok(Buffer.from(base64, 'base64').equals(large))
  t.same(refusal(await upload(app, 'x', Buffer.alloc(10 * MB + 1))), [400, 'attachment_too_large'])
  t.same(await stored(), before)
  const twice = { attachments: [{ file_cache_key }, { file_cache_key, name: 'again.bin' }] }
  t.same(refusal(await post(app, { ...email, subject: 's', text: 't', ...twice })), [413, 'payload_too_large'])
  t.same(app.errors, [])
})

t.test('cached files go out as attachments and images beside others, in replies too', async (t) => {
  const bill = await uploadFile(app, 'bill.pdf', Buffer.from('%PDF'))
  const logo = await uploadFile(app, 'logo.png', png, { type: 'image/png' })
  const html = '<img src="cid:logo">'
  const files = {
    attachments: [
      { file_cache_key: bill, name: 'Rechnung.pdf' },
      { file_cache_key: bill },
      { filename: 'note.txt', content: 'aGk=', content_type: 'text/plain' },
    ],
    inline_images: [{ file_cache_key: logo, cid: 'logo' }],
  }
  const nested = { from: { address: 'app@a.test' }, to: [{ email_address: { address: 'bob@b.test' } }] }
  for (const shape of [
    { ...email, subject: 's', html },
    { ...nested, subject: 's', htmlbody: html },
  ]) {
    const { attachments } = await sendAndParse(app, sink, { ...shape, ...files })
    const about = attachments.map(({ filename, contentType, content, related }) => [
      filename,
      contentType,
      content.toString('latin1'),
      related === true,
    ])
    t.same(about, [
      ['logo.png', 'image/png', png.toString('latin1'), true],
      ['Rechnung.pdf', 'application/pdf', '%PDF', false],
      ['bill.pdf', 'application/pdf', '%PDF', false],
      ['note.txt', 'text/plain', 'hi', false],
    ])
  }
  const { workspaceId: workspace_id } = app
  const inbound = inboundMail({ id: uuidv7(app.now()), workspace_id, domain: 'a.test', envelope_to: ['info@a.test'] })
  await app.daemon.database.commit(storeInbound(inbound, Buffer.from('Reply-To: bob@b.test\r\n\r\nhello\r\n')))
  const body = { text: 't', attachments: [{ file_cache_key: bill }] }
  const reply = await app.rest('POST', `/v1/inbound/${inbound.id}/reply`, { body })
  t.equal(reply.status, 200)
  await app.waitUntilSettled(reply.json<{ readonly emailId: string }>().emailId)
  t.match(await simpleParser(sink.messages.at(-1)?.raw ?? ''), { attachments: [{ filename: 'bill.pdf' }] })
  t.same(app.errors, [])
})

t.test('a missing file, or one of another workspace, is refused with its field', async (t) => {
  const theirs = await uploadFile(app, 'a.txt', png, { key: app.otherKey })
  const plain = { ...email, subject: 's', text: 't' }
  const rows: readonly (readonly [files: object, field: string])[] = [
    [{ attachments: [{ file_cache_key: 'none' }] }, 'attachments[0].file_cache_key'],
    [{ attachments: [{ file_cache_key: theirs, name: 'x' }] }, 'attachments[0].file_cache_key'],
    [{ inline_images: [{ file_cache_key: theirs, cid: 'x' }] }, 'inline_images[0].file_cache_key'],
  ]
  for (const [files, field] of rows) {
    const { status, code, details } = error(await post(app, { ...plain, ...files }))
    t.match([status, code, details], [400, 'validation_error', { errors: [{ field }] }])
  }
  t.same(refusal(await post(app, { ...plain, attachments: [{ file_cache_key: 'none', colour: 'x' }] })), [
    400,
    'validation_error',
  ])
})

t.test('an alias belongs to one template of a workspace, and names it in requests', async (t) => {
  const app = await testDaemon(t)
  const template = { name: 'Welcome', subject: 'Hi', text: 'Hello' }
  const make = (body: unknown, key?: string) => app.rest('POST', '/v1/templates', { body, ...(key ? { key } : {}) })
  const first = (await make({ ...template, alias: 'welcome' })).json<{ id: string }>()
  const taken = await make({ ...template, alias: 'welcome' })
  t.match([taken.status, taken.json()], [409, { error: { code: 'conflict', message: /^alias: another template/ } }])
  t.equal((await make({ ...template, alias: 'welcome' }, app.otherKey)).status, 201, 'workspaces do not share them')
  for (const alias of ['', '-a', 'A', 'a b', 'a'.repeat(65)])
    t.equal((await make({ ...template, alias })).status, 400, alias)
  const second = (await make(template)).json<{ id: string }>()
  const change = (body: unknown) => app.rest('PATCH', `/v1/templates/${second.id}`, { body })
  t.equal((await change({ alias: 'welcome' })).status, 409)
  t.match((await change({ alias: 'other' })).json(), { alias: 'other' })
  t.match((await change({ alias: null })).json(), { alias: null })
  const send = (body: object) =>
    app.rest('POST', '/v1/emails', { body: { from: 'app@a.test', to: 'bob@b.test', ...body } })
  const sent = (await send({ template_alias: 'welcome' })).json<{ id: string }>()
  t.match((await app.rest('GET', `/v1/emails/${sent.id}`)).json(), { template_id: first.id, subject: 'Hi' })
  t.equal((await send({ template_alias: 'missing' })).status, 404)
  const both = await send({ template_alias: 'welcome', template_id: first.id })
  t.match(both.json(), { error: { message: /^template_alias: names a template as template_id does/ } })
})
