/**
 * Broadcasts over REST: drafts and what is wrong with them, sending, changes of their state, and what depends on them.
 *
 * What their messages become in the queue: test/journeys/broadcasts.test.ts.
 */
import { simpleParser } from 'mailparser'
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

const PATH = '/v1/broadcasts'
const DAY = 24 * 3_600_000

interface Shown {
  readonly id: string
  readonly status: string
  readonly version: number
}

const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const fieldsOf = (answer: RestAnswer): readonly string[] => {
  const { details = {} } = error(answer)
  return ((details['errors'] ?? []) as readonly { readonly field: string }[]).map(({ field }) => field)
}

async function create(app: TestDaemon, path: string, body: object, key = app.key): Promise<string> {
  const answer = await app.rest('POST', path, { body, key })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Shown>().id
}

/** An audience of these addresses. */
async function audience(
  app: TestDaemon,
  addresses: readonly string[] = ['ann@b.test'],
  key = app.key,
): Promise<string> {
  const id = await create(app, '/v1/audiences', { name: 'Readers' }, key)
  for (const email of addresses) {
    await create(app, '/v1/contacts', { email, audience_id: id, first_name: 'Ann' }, key)
    app.advance(1)
  }
  return id
}

const words = { name: 'May', from: 'News <news@a.test>', subject: 'Hi {{first_name|you}}', html: '<p>{{email}}</p>' }

const draft = async (app: TestDaemon, more: object = {}): Promise<string> =>
  create(app, PATH, { ...words, audience_id: await audience(app), ...more })

const act = (app: TestDaemon, id: string, name: string, body?: object): Promise<RestAnswer> =>
  app.rest('POST', `${PATH}/${id}/${name}`, body === undefined ? {} : { body })

const show = async (app: TestDaemon, id: string): Promise<Shown> => (await app.rest('GET', `${PATH}/${id}`)).json()

const inAnHour = (app: TestDaemon): string => new Date(app.now() + 3_600_000).toISOString()

t.test('a draft is created, shown, listed, changed and deleted', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const list = await audience(app)
  const made = await app.rest('POST', PATH, {
    body: { ...words, audience_id: list, reply_to: ['Bob <bob@c.test>', 'cy@c.test'], text: '' },
  })
  t.equal(made.status, 201)
  t.same(check('POST /broadcasts', made), [])
  const { id } = made.json<Shown>()
  const shown = {
    ...{ id, name: 'May', audience_id: list, from: 'News <news@a.test>', reply_to: ['Bob <bob@c.test>', 'cy@c.test'] },
    ...{ subject: words.subject, template_id: null, status: 'draft', scheduled_for: null, started_at: null },
    ...{ finished_at: null, recipients: 0, queued: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, cancelled: 0 },
    ...{
      complained: 0,
      unsubscribed: 0,
      unique_opens: 0,
      unique_clicks: 0,
      waits_until: null,
      note: null,
      not_opened_of: null,
    },
    rates: { delivery_rate: 0, bounce_rate: 0, open_rate: 0, click_rate: 0, unsubscribe_rate: 0 },
    ...{ object: 'broadcast', segment_id: list, scheduled_at: null, sent_at: null },
  }
  const { created_at, updated_at, ...rest } = made.json<Record<string, unknown>>()
  t.same(rest, { ...shown, html: words.html, text: null, blocks: null }, 'an empty text is none')
  t.match([created_at, updated_at], [/Z$/, /Z$/])

  app.advance(1)
  const other = await create(app, PATH, { ...words, name: 'June', audience_id: list })
  const pages = await app.rest('GET', PATH)
  t.same(check('GET /broadcasts', pages), [])
  t.match(pages.json(), { data: [{ id: other }, shown] })
  t.notMatch(pages.text, /"html"/)
  t.match((await app.rest('GET', `${PATH}?limit=1&offset=1`)).json(), { data: [{ id }] })

  const changed = await app.rest('PATCH', `${PATH}/${id}`, {
    body: { name: 'New', from: { address: 'x@a.test', name: 'A "b" <c>' }, reply_to: null, text: 'plain', html: null },
  })
  t.same([changed.status, check('PATCH /broadcasts/:id', changed)], [200, []])
  const after = { name: 'New', from: '"A \\"b\\" <c>" <x@a.test>', reply_to: [], text: 'plain', html: null }
  t.match(changed.json(), { ...after, subject: words.subject })
  t.same((await app.rest('GET', `${PATH}/${id}`)).json(), changed.json())

  t.same((await app.rest('DELETE', `${PATH}/${id}`)).json(), { object: 'broadcast', deleted: true, id })
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/send'],
    ['POST', '/cancel'],
    ['POST', '/test'],
  ] as const) {
    const body = method === 'PATCH' ? { name: 'x' } : path === '/test' ? { to: 'a@b.test' } : undefined
    const answer = await app.rest(method, `${PATH}/${id}${path}`, body === undefined ? {} : { body })
    t.match(error(answer), { code: 'not_found', status: 404, details: { id } }, `${method} ${path}`)
  }
  t.same(app.errors, [])
})

t.test('what is wrong with a draft is named', async (t) => {
  const app = await testDaemon(t)
  const list = await audience(app)
  const theirs = await audience(app, [], app.otherKey)
  const foreign = await create(app, '/v1/templates', { name: 'n', subject: 's', text: 't' }, app.otherKey)
  const good = { ...words, audience_id: list }
  const cases: readonly (readonly [object, string, readonly string[]])[] = [
    [{ ...good, subject: null }, 'missing_required_field', ['subject']],
    [{ ...good, html: '' }, 'missing_required_field', ['text']],
    [{ ...good, reply_to: ['x'] }, 'invalid_email_address', ['reply_to[0]']],
    [{ ...good, name: ' ' }, 'validation_error', ['name']],
    [{ ...good, subject: 'a\nb' }, 'validation_error', ['subject']],
    [{ ...good, scheduled_for: inAnHour(app) }, 'validation_error', ['scheduled_for']],
    [{ ...good, subject: 'Hi {{nickname}}' }, 'invalid_template_variables', ['subject']],
    [{ ...good, audience_id: theirs }, 'audience_not_found', []],
    [{ ...good, subject: null, html: null, template_id: foreign }, 'template_not_found', []],
  ]
  for (const [body, code, fields] of cases) {
    const answer = await app.rest('POST', PATH, { body })
    t.same([error(answer).code, fieldsOf(answer)], [code, fields], JSON.stringify(body).slice(0, 200))
  }
  t.equal((await app.rest('POST', PATH, { body: { ...good, name: 'x'.repeat(255) } })).status, 201)
  t.same(app.errors, [])
})

t.test('a template takes the place of the words, and words that of a template', async (t) => {
  const app = await testDaemon(t)
  const template = await create(app, '/v1/templates', { name: 'n', subject: 's', text: 't' })
  const id = await draft(app)
  const patch = (body: object): Promise<RestAnswer> => app.rest('PATCH', `${PATH}/${id}`, { body })
  t.match((await patch({ template_id: template })).json(), { template_id: template, subject: null, html: null })
  const wrong = await patch({ html: '<p>x</p>' })
  t.same([error(wrong).code, fieldsOf(wrong)], ['missing_required_field', ['subject']])
  const both = await patch({ template_id: template, subject: 'x' })
  t.same([error(both).code, fieldsOf(both)], ['validation_error', ['template_id']])
  const none = await patch({ template_id: null })
  t.same([error(none).code, fieldsOf(none)], ['missing_required_field', ['subject', 'text']])
  t.match((await patch({ subject: 'x', text: 'y' })).json(), { template_id: null, subject: 'x', text: 'y' })
  for (const [body, code] of [
    [{ audience_id: 'x' }, 'audience_not_found'],
    [{ template_id: 'x' }, 'template_not_found'],
    [{ text: '{{who}}' }, 'invalid_template_variables'],
    [{ name: '' }, 'validation_error'],
    [{ status: 'sent' }, 'validation_error'],
  ] as const) {
    t.equal(error(await patch(body)).code, code, JSON.stringify(body))
  }
  t.match(await show(app, id), { subject: 'x', text: 'y' })
  t.same(app.errors, [])
})

t.test('only a draft that could go out is sent', async (t) => {
  const app = await testDaemon(t)
  const bodyless = await create(app, '/v1/templates', { name: 'n', subject: 's' })
  const bad = await create(app, '/v1/templates', { name: 'n', subject: '{{amount}}', text: 't' })
  const gone = await create(app, '/v1/templates', { name: 'n', subject: 's', text: 't' })
  const templated = { subject: undefined, html: undefined }
  const unsubscribed = await audience(app, [])
  await create(app, '/v1/contacts', { email: 'x@b.test', audience_id: unsubscribed, subscribed: false })
  const cases: readonly (readonly [more: object, code: string, field?: string])[] = [
    [{ from: 'news@unknown.test' }, 'invalid_from_address', 'from'],
    [{ audience_id: await audience(app, []) }, 'validation_error', 'audience_id'],
    [{ audience_id: unsubscribed }, 'validation_error', 'audience_id'],
    [{ ...templated, template_id: bodyless }, 'validation_error', 'template_id'],
    [{ ...templated, template_id: bad }, 'invalid_template_variables'],
    [{ ...templated, template_id: gone }, 'template_not_found'],
  ]
  const ids: string[] = []
  for (const [more] of cases) ids.push(await draft(app, more))
  await app.rest('DELETE', `/v1/templates/${gone}`)
  for (const [at, [, code, field]] of cases.entries()) {
    const answer = await act(app, ids[at] ?? '', 'send')
    t.equal(error(answer).code, code, answer.text)
    if (field !== undefined) t.same(fieldsOf(answer), [field])
    t.equal((await show(app, ids[at] ?? '')).status, 'draft')
  }
  const id = await draft(app)
  for (const [scheduled_for, ok] of [
    [new Date(app.now() + 31 * DAY).toISOString(), false],
    ['tomorrow', false],
    ['2026-02-30T00:00:00Z', false],
  ] as const) {
    const answer = await act(app, id, 'send', { scheduled_for })
    t.same([answer.status === 202, fieldsOf(answer)], [ok, ['scheduled_for']], scheduled_for)
  }
  const unknown = await act(app, id, 'send', { at: inAnHour(app) })
  t.same([error(unknown).code, fieldsOf(unknown)], ['validation_error', ['at']])
  t.same(await app.rows('select * from broadcast_frames'), [], 'nothing of them is stored')
  const list = (await show(app, id)) as unknown as { readonly audience_id: string }
  await app.rest('DELETE', `/v1/audiences/${list.audience_id}`)
  t.equal(error(await act(app, id, 'send')).code, 'audience_not_found')
  t.same(app.errors, [])
})

t.test('a broadcast is scheduled with the content of that moment', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const html =
    '<a href="https://a.test/1">one</a> <a href="https://a.test/1">again</a> <a href="https://a.test/2">two</a>'
  const template = await create(app, '/v1/templates', { name: 'n', subject: 'first', html })
  const id = await draft(app, { subject: undefined, html: undefined, template_id: template })
  const at = inAnHour(app)
  const sent = await act(app, id, 'send', { scheduled_for: at })
  t.same([sent.status, check('POST /broadcasts/:id/send', sent)], [202, []])
  t.match(sent.json(), { id, status: 'scheduled', scheduled_for: at, started_at: null })
  t.equal((await app.rest('DELETE', `/v1/templates/${template}`)).status, 200)
  const [frame] = await app.rows<{ frame: Buffer }>('select frame from broadcast_frames where broadcast_id = ?', id)
  t.match(frame?.frame.toString('latin1'), /Subject: first/)
  const links = await app.rows<{ url: string }>(
    'select url from broadcast_links where broadcast_id = ? order by url',
    id,
  )
  t.same(links, [{ url: 'https://a.test/1' }, { url: 'https://a.test/2' }])

  const patched = await app.rest('PATCH', `${PATH}/${id}`, { body: { name: 'x' } })
  t.match(error(patched), { code: 'conflict', details: { id, status: 'scheduled' } })
  t.equal(error(await act(app, id, 'send')).code, 'conflict')
  t.equal(error(await act(app, id, 'pause')).code, 'conflict')
  t.equal(error(await act(app, id, 'resume')).code, 'conflict')
  const cancelled = await act(app, id, 'cancel')
  t.same([cancelled.status, check('POST /broadcasts/:id/cancel', cancelled)], [200, []])
  t.match(cancelled.json(), { status: 'cancelled', finished_at: /Z$/ })
  t.equal(error(await act(app, id, 'cancel')).code, 'conflict')

  const next = await draft(app)
  await act(app, next, 'send', { scheduled_for: inAnHour(app) })
  t.equal((await app.rest('DELETE', `${PATH}/${next}`)).status, 200, 'a scheduled one is deleted')
  t.same(await app.rows('select 1 from broadcast_frames where broadcast_id = ?', next), [], 'with its content')
  t.same(await app.rows('select 1 from broadcast_links where broadcast_id = ?', next), [])
  t.same(app.errors, [])
})

t.test('of changes at the same moment one takes place', async (t) => {
  const app = await testDaemon(t)
  const id = await draft(app)
  const later = { scheduled_for: inAnHour(app) }
  const sends = await Promise.all(Array.from({ length: 8 }, () => act(app, id, 'send', later)))
  t.same(sends.map(({ status }) => status).sort(), [202, 409, 409, 409, 409, 409, 409, 409])
  t.equal((await app.rows('select 1 from broadcast_frames where broadcast_id = ?', id)).length, 1)
  const cancels = await Promise.all([...Array(5)].map(() => act(app, id, 'cancel')))
  t.same(cancels.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])

  const other = await draft(app)
  const [sent, changed] = await Promise.all([
    act(app, other, 'send', later),
    app.rest('PATCH', `${PATH}/${other}`, { body: { subject: 'changed' } }),
  ])
  const { subject, status } = (await show(app, other)) as Shown & { readonly subject: string }
  t.ok(sent.status === 202 || changed.status === 200)
  if (sent.status === 202) {
    const [frame] = await app.rows<{ frame: Buffer }>(
      'select frame from broadcast_frames where broadcast_id = ?',
      other,
    )
    t.equal(frame?.frame.toString('latin1').includes('changed'), subject === 'changed', 'what is shown is what is sent')
    t.equal(status, 'scheduled')
  }
  const log = (await app.rest('GET', '/v1/audit-log')).json<{ data: { action: string; target: string }[] }>().data
  const acts = log.filter(({ target }) => target === id).map(({ action }) => action)
  t.same(acts, ['broadcast.cancelled', 'broadcast.sent'], 'each act is logged once')
  t.same(app.errors, [])
})

t.test('a copy is sent to one address as a test', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'c.test': sink, 'b.test': sink } })
  const check = schemaCheck(app.daemon.routes)
  const html = '<p>{{first_name|reader}} {{metadata.plan|none}} {{email}} <a href="https://a.test/x">x</a></p>'
  const list = await audience(app, ['ann@b.test', 'bob@b.test'])
  const id = await draft(app, { audience_id: list, html, reply_to: 'Editor <editor@a.test>' })
  const copyFor = async (to: string) => {
    const answer = await act(app, id, 'test', { to })
    t.same([answer.status, check('POST /broadcasts/:id/test', answer)], [200, []], answer.text)
    const email = answer.json<{ readonly id: string; readonly message_id: string }>()
    await app.waitUntilSettled(email.id)
    const raw = sink.messages.at(-1)?.raw ?? ''
    return { email, raw: String(raw), mail: await simpleParser(raw) }
  }
  const { email, raw, mail } = await copyFor('editor@c.test')
  t.equal(mail.subject, 'Hi Ann')
  t.match(mail.html, /Ann none editor@c\.test <a href="https:\/\/a\.test\/x">/, 'values of a contact, and plain links')
  t.notMatch(raw, /track\/(?:open|click)/)
  t.match(raw, /^List-Unsubscribe: /m)
  t.match(mail.text, /Unsubscribe/)
  t.equal(mail.messageId, `<${email.message_id.replace(/[<>]/g, '')}>`)
  const record = (await app.rest('GET', `/v1/emails/${email.id}`)).json()
  t.match(record, { from: 'news@a.test', to: ['editor@c.test'], tracking: { open: false, click: false } })
  t.match((await app.rest('GET', '/v1/emails')).json(), { data: [{ id: email.id }] }, 'an email like any other')
  t.match(await show(app, id), { status: 'draft', recipients: 0 })

  const [, link = ''] = /(\/v1\/unsubscribe\/[a-z2-7]+)/.exec(mail.text ?? '') ?? []
  t.equal((await app.rest('POST', link, { key: null })).status, 404, 'its link unsubscribes no one')
  t.same(await app.rows('select * from suppressions'), [])
  t.same(await app.rows('select * from contacts where subscribed = 0'), [])

  t.match((await copyFor('bob@b.test')).mail.to, { text: /bob@b\.test/ }, 'a contact gets the own values')
  for (const [body, code] of [
    [{}, 'missing_required_field'],
    [{ to: 'x' }, 'invalid_email_address'],
    [{ to: ['a@c.test'] }, 'validation_error'],
  ] as const) {
    t.equal(error(await act(app, id, 'test', body)).code, code, JSON.stringify(body))
  }
  await create(app, '/v1/suppressions', { email: 'gone@c.test' })
  t.equal(error(await act(app, id, 'test', { to: 'gone@c.test' })).code, 'all_recipients_suppressed')
  t.same(app.errors, [])
})

t.test('an audience stays while a broadcast needs it', async (t) => {
  const app = await testDaemon(t)
  const list = await audience(app)
  const id = await draft(app, { audience_id: list })
  await act(app, id, 'send', { scheduled_for: inAnHour(app) })
  const refused = await app.rest('DELETE', `/v1/audiences/${list}`)
  t.match(error(refused), { code: 'conflict', details: { id: list, broadcast_id: id } })
  await act(app, id, 'cancel')
  t.equal((await app.rest('DELETE', `/v1/audiences/${list}`)).status, 200)

  for (let round = 0; round < 5; round += 1) {
    const next = await audience(app)
    const racing = await draft(app, { audience_id: next })
    const [sent, gone] = await Promise.all([
      act(app, racing, 'send', { scheduled_for: inAnHour(app) }),
      app.rest('DELETE', `/v1/audiences/${next}`),
    ])
    const { status } = await show(app, racing)
    t.ok(
      (sent.status === 202 && gone.status === 409 && status === 'scheduled') ||
        ([400, 404].includes(sent.status) && gone.status === 200 && status === 'draft'),
      `${sent.status} ${gone.status} ${status}`,
    )
  }
  t.same(app.errors, [])
})

t.test('emails of a broadcast are listed by its id', async (t) => {
  const app = await testDaemon(t)
  const id = await draft(app)
  const list = (query: string, key = app.key): Promise<RestAnswer> => app.rest('GET', `/v1/emails?${query}`, { key })
  t.same((await list(`broadcast_id=${id}`)).json(), { object: 'list', data: [], has_more: false })
  const sql = `insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name, to_emails,
    cc_emails, bcc_emails, reply_to, subject, tags, track_opens, track_clicks, priority, size, smtputf8, status,
    created_at, broadcast_id) values (?, ?, 'rest', '', '', 'app@a.test', '', '[]', '[]', '[]', '[]', '',
    '[]', 1, 1, 'low', 1, 0, 'queued', ?, ?)`
  await app.daemon.database.commit(
    [1, 2, 3].map((number) => ({ sql, parameters: [`bc-${number}`, app.workspaceId, number, id] })),
  )
  t.same((await list('')).json(), { object: 'list', data: [], has_more: false })
  t.match((await list(`broadcast_id=${id}`)).json(), { data: [{ id: 'bc-3' }, { id: 'bc-2' }, { id: 'bc-1' }] })
  t.match((await list(`broadcast_id=${id}&page=2&per_page=2&status=queued`)).json(), {
    data: [{ id: 'bc-1' }],
    meta: { total: 3, page: 2, pages: 2 },
  })
  t.match((await list(`broadcast_id=${id}&page=1&status=bounced`)).json(), { data: [], meta: { total: 0 } })
  t.match(await show(app, id), { recipients: 3, queued: 3 })
  for (const [query, key] of [
    [id, app.otherKey],
    ['x', app.key],
  ] as const) {
    t.match(error(await list(`broadcast_id=${query}`, key)), { code: 'not_found', details: { id: query } })
  }
  await app.rest('DELETE', `${PATH}/${id}`)
  t.match((await list(`broadcast_id=${id}`)).json(), { data: [{ id: 'bc-3' }] }, 'also when it is deleted')
  t.same(app.errors, [])
})

t.test('a workspace that is closed has no broadcast under way', async (t) => {
  const app = await testDaemon(t)
  const list = await audience(app, ['a@b.test'], app.otherKey)
  const id = await create(app, PATH, { ...words, from: 'x@other.test', audience_id: list }, app.otherKey)
  const sent = await app.rest('POST', `${PATH}/${id}/send`, {
    key: app.otherKey,
    body: { scheduled_for: inAnHour(app) },
  })
  t.equal(sent.status, 202, sent.text)
  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.otherWorkspaceId}`, { key: app.otherKey })).status, 200)
  t.same(await app.rows(`select 1 from broadcasts where id = ? and status <> 'draft'`, id), [])
  t.same(app.errors, [])
})

t.test('a workspace has a limited number of broadcasts under way', async (t) => {
  const app = await testDaemon(t)
  const [first, last] = [await draft(app), await draft(app)]
  await act(app, first, 'send', { scheduled_for: inAnHour(app) })
  const columns = `workspace_id, name, audience_id, sender, reply_to, subject, html, text, template_id, status,
    scheduled_for, started_at, finished_at, key_id, cursor, ceiling, expanded, waits_until, note, version, created_at,
    updated_at`
  const copies = `insert into broadcasts (id, ${columns}) with recursive n (i) as (select 1 union all select i + 1 from n
    where i < 99) select 'copy' || i, ${columns} from broadcasts, n where id = ?`
  await app.daemon.database.commit([{ sql: copies, parameters: [first] }])
  const refused = await act(app, last, 'send', { scheduled_for: inAnHour(app) })
  t.match([refused.status, error(refused)], [409, { code: 'conflict', details: { limit: 100, count: 100 } }])
  t.equal((await act(app, first, 'cancel')).status, 200)
  t.equal((await act(app, last, 'send', { scheduled_for: inAnHour(app) })).status, 202)
})

t.test('the same idempotency key creates one broadcast, and sends it once', async (t) => {
  const app = await testDaemon(t)
  const body = { ...words, audience_id: await audience(app) }
  const post = (key: string, more: object = {}) =>
    app.rest('POST', PATH, { body: { ...body, ...more }, headers: { 'idempotency-key': key } })
  const both = await Promise.all([post('draft'), post('draft')])
  const again = await post('draft')
  t.same(
    both.map(({ status }) => status),
    [201, 201],
  )
  t.same(both[0]?.json(), both[1]?.json())
  t.same(again.json(), both[0]?.json())
  const other = await post('draft', { name: 'June' })
  t.equal(other.status, 409)
  t.match(error(other).message, /idempotency key was used for another request/)

  const sent = await Promise.all([post('sent', { send: true }), post('sent', { send: true })])
  t.same(
    sent.map(({ status }) => status),
    [201, 201],
    sent.map(({ text }) => text).join(),
  )
  t.equal(sent[0]?.json<Shown>().id, sent[1]?.json<Shown>().id)
  t.equal((await app.rows('select id from broadcasts')).length, 2)

  const refused = { send: true, from: 'News <news@unknown.test>' }
  t.equal((await post('refused', refused)).status, 400, 'a key of a refused request can be used again')
  t.equal((await post('refused')).status, 201)
  const { id } = again.json<Shown>()
  t.equal((await app.rest('DELETE', `${PATH}/${id}`)).status, 200)
  t.match(error(await post('draft')).message, /created with this idempotency key is deleted/)
  t.equal((await post('')).status, 400)
})

t.test('a refused request leaves no draft, also if one was there before it, and does not use its key', async (t) => {
  const app = await testDaemon(t)
  const list = await audience(app, [])
  const post = () =>
    app.rest('POST', PATH, {
      body: { ...words, audience_id: list, send: true, scheduled_at: at },
      headers: { 'idempotency-key': 'again' },
    })
  const at = inAnHour(app)
  const contact = { email: 'ann@b.test', audience_id: list }
  const ann = await create(app, '/v1/contacts', contact)
  const first = (await post()).json<Shown>()
  t.equal(first.status, 'scheduled')
  // What a crash between the commits of the draft and of its start leaves.
  const sql = `update broadcasts set status = 'draft', version = 1, scheduled_for = null where id = ?`
  await app.daemon.database.commit([
    { sql, parameters: [first.id] },
    { sql: 'delete from broadcast_frames where broadcast_id = ?', parameters: [first.id] },
    { sql: 'delete from broadcast_links where broadcast_id = ?', parameters: [first.id] },
  ])
  t.equal((await app.rest('DELETE', `/v1/contacts/${ann}`)).status, 200)
  const refused = await post()
  t.equal(refused.status, 400)
  t.match(error(refused).message, /no subscribed contact/)
  t.same((await app.rest('GET', PATH)).json<{ readonly data: readonly Shown[] }>().data, [])
  await create(app, '/v1/contacts', contact)
  const again = await post()
  t.equal(again.status, 201)
  t.not(again.json<Shown>().id, first.id)
})
