/** Unsubscribe links through the whole daemon: what recipients get, and what becomes of their requests. */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { type ParsedMail, simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { wordsOfJson } from '../helpers/database/test-engine.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { withoutReference } from '../helpers/mail/without-reference.js'
import { deliverInbound } from '../helpers/smtp/deliver-inbound.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const email = {
  from: 'News <news@a.test>',
  to: ['bob@b.test', 'carol@b.test'],
  bcc: 'dave@b.test',
  subject: 'news',
  html: '<p>Grüße</p><a href="https://example.com/">more</a> <a href="{{unsubscribe_url}}">no more</a>',
  text: 'Leave: {{ unsubscribe_url }}, {{name}} stays',
}

async function openApp(t: Test, script: SinkScript = {}): Promise<{ app: TestDaemon; sink: ScriptedSink }> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  return { app: await testDaemon(t, { routes: { 'b.test': sink } }), sink }
}

async function send(app: TestDaemon, body: object = email): Promise<string> {
  const answer = await app.rest('POST', '/v1/emails', { body })
  t.equal(answer.status, 201, answer.text)
  return answer.json<{ id: string }>().id
}

interface Arrived {
  readonly raw: Buffer
  readonly mail: ParsedMail
  /** The path of the link in its HTML. */
  readonly path: string
}

/** By recipient. */
async function readArrived(sink: ScriptedSink): Promise<ReadonlyMap<string, Arrived>> {
  const arrived = await Promise.all(
    sink.messages.map(async ({ raw, rcptTo }) => {
      const mail = await simpleParser(raw, { skipHtmlToText: true })
      const [, path = ''] = /href="https:\/\/[^/"]*(\/v1\/unsubscribe\/[a-z2-7]{42})"/.exec(String(mail.html)) ?? []
      return [/[^<]+(?=@)/.exec(rcptTo[0] ?? '')?.[0] ?? '', { raw, mail, path }] as const
    }),
  )
  return new Map(arrived)
}

function requireArrived(messages: ReadonlyMap<string, Arrived>, name: string): Arrived {
  const found = messages.get(name)
  if (found === undefined) throw new Error(`${name} got no message`)
  return found
}

const suppressions = (app: TestDaemon): Promise<unknown[]> =>
  app.rows('select email, reason, source_email_id, workspace_id from suppressions order by email')
const events = (app: TestDaemon): Promise<unknown[]> =>
  app.rows(
    `select recipient, ${wordsOfJson('data', 'to')} as "to", email_id from events where type = 'email.unsubscribed' order by seq`,
  )

/** As a browser or a mail program asks: without a key. */
const visit = (app: TestDaemon, method: string, path: string, body?: string, type?: string): Promise<RestAnswer> =>
  app.rest(method, path, {
    key: null,
    ...(body === undefined ? {} : { body, headers: { 'content-type': type ?? '' } }),
  })

async function verifiesDkim(app: TestDaemon, raw: Buffer): Promise<string | undefined> {
  const [record] = await app.rows<{ public_record: string }>(
    `select public_record from dkim_keys where domain = 'a.test' and signing = 1`,
  )
  const resolver = async (): Promise<string[][]> => [[record?.public_record ?? '']]
  const { results } = await dkimVerify(raw, { resolver } as never)
  return results[0]?.status.result
}

t.test('each recipient gets its own links, in a message of its own with a valid signature', async (t) => {
  const { app, sink } = await openApp(t)
  const id = await send(app)
  await app.waitUntilSettled(id)
  const messages = await readArrived(sink)
  t.same([...messages.keys()].sort(), ['bob', 'carol', 'dave'])
  t.equal(new Set([...messages.values()].map(({ path }) => path)).size, 3)
  for (const [name, { raw, mail, path }] of messages) {
    const token = path.slice('/v1/unsubscribe/'.length)
    t.match(path, /^\/v1\/unsubscribe\/[a-z2-7]{42}$/)
    t.equal(mail.text?.trim(), `Leave: https://mail.service.test${path}, {{name}} stays`)
    t.match(
      raw.toString().replace(/\r\n[ \t]/g, ' '),
      `List-Unsubscribe: <https://mail.service.test${path}>, <mailto:unsubscribe+${token}@posthorn.a.test>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n`,
    )
    t.match(raw.toString().replace(/\r\n[ \t]/g, ''), /h=[^;]*list-unsubscribe:list-unsubscribe-post/i)
    t.equal(await verifiesDkim(app, raw), 'pass', name)
    for (const other of messages.values())
      if (other.path !== path) t.notOk(raw.includes(other.path.slice(-42)), 'the token of another')
  }
  const pixels = new Set(
    [...messages.values()].map(({ mail }) => /track\/(?:open|click)\/[^"]+/g.exec(String(mail.html))?.[0]),
  )
  t.equal(pixels.size, 1, 'links and the pixel are the same for all')
  await t.test('the interface shows the message of each recipient', async (t) => {
    for (const [name, { raw }] of messages) {
      const shown = await app.rest('GET', `/v1/emails/${id}/raw?recipient=${name.toUpperCase()}@b.test`)
      t.equal(shown.text, withoutReference(raw).toString())
    }
    const first = await app.rest('GET', `/v1/emails/${id}/raw`)
    t.equal(first.text, withoutReference(requireArrived(messages, 'bob').raw).toString())
    const unknown = await app.rest('GET', `/v1/emails/${id}/raw?recipient=x@b.test`)
    t.match([unknown.status, unknown.json()], [404, { error: { code: 'not_found', details: { id: 'x@b.test' } } }])
    const malformed = await app.rest('GET', `/v1/emails/${id}/raw?recipient=x`)
    t.match([malformed.status, malformed.json()], [400, { error: { code: 'invalid_email_address' } }])
    t.notOk('List-Unsubscribe' in ((await app.rest('GET', `/v1/emails/${id}`)).json()['headers'] ?? {}))
  })
  const [stored] = await app.rows<{ own: number; size: number }>(
    'select max(length(bytes)) own, (select size from emails) size from recipient_copies',
  )
  t.ok(stored !== undefined && stored.own < stored.size)
  t.same(app.errors, [])
})

t.test('a page asks, and a form or one click acts, once', async (t) => {
  const { app, sink } = await openApp(t)
  const id = await send(app)
  await app.waitUntilSettled(id)
  const messages = await readArrived(sink)
  const [bob, carol, dave] = ['bob', 'carol', 'dave'].map((name) => requireArrived(messages, name).path)
  if (bob === undefined || carol === undefined || dave === undefined) throw new Error('a message is missing')
  for (const method of ['GET', 'HEAD']) {
    const page = await visit(app, method, bob)
    t.match(page, { status: 200, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' } })
    t.match(page.headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-/)
  }
  const page = (await visit(app, 'GET', `${bob}?utm_source=x&utm_source=y`)).text
  t.match(
    page,
    /<html lang="en">[\s\S]*<h1>Unsubscribe\?<\/h1>[\s\S]*<form method="post">\n<button>Unsubscribe<\/button>/,
  )
  t.match(page, /<b>news@a\.test<\/b>/)
  t.match(page, /<b>b…@b\.test<\/b>/)
  t.notMatch(page, 'bob@b.test')
  t.same([await suppressions(app), await events(app)], [[], []], 'reading changes nothing')

  const form = 'application/x-www-form-urlencoded'
  const done = await visit(app, 'POST', bob, '', form)
  t.match([done.status, done.text], [200, /<h1>You are unsubscribed<\/h1>/])
  t.notOk(done.headers['set-cookie'])
  t.match(await visit(app, 'POST', bob, '', form), { status: 200, text: /already/ })
  t.match(await visit(app, 'GET', bob), { status: 200, text: /already/ })
  t.match(
    await visit(
      app,
      'POST',
      carol.toUpperCase().replace('/V1/UNSUBSCRIBE', '/v1/unsubscribe'),
      'List-Unsubscribe=One-Click',
      form,
    ),
    { status: 200 },
  )
  const multipart = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => visit(app, 'POST', dave, multipart, 'multipart/form-data; boundary=x')),
  )
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  const rows = ['bob@b.test', 'carol@b.test', 'dave@b.test']
  t.same(
    await suppressions(app),
    rows.map((address) => ({
      email: address,
      reason: 'unsubscribe',
      source_email_id: id,
      workspace_id: app.workspaceId,
    })),
  )
  t.same(
    await events(app),
    rows.map((address) => ({ recipient: address, to: address, email_id: id })),
  )
  const refused = await app.rest('POST', '/v1/emails', { body: email })
  t.match([refused.status, refused.json()], [422, { error: { code: 'all_recipients_suppressed' } }])
  t.same(app.errors, [])
})

t.test('a mail provider may ask to unsubscribe hundreds of its users in a minute from one address', async (t) => {
  const { app } = await openApp(t)
  for (let count = 0; count < 310; count += 1) {
    const { status } = await app.rest('POST', '/v1/unsubscribe/x', { key: null })
    if (status !== 404) t.fail(`request ${count}: ${status}`)
  }
  t.match(
    (await app.rest('GET', '/v1/emails', { key: null })).status,
    401,
    'the limit of other requests is not used up',
  )
})

t.test('a link that is forged or unknown shows a page and changes nothing', async (t) => {
  const { app, sink } = await openApp(t)
  await app.waitUntilSettled(await send(app, { ...email, to: 'bob@b.test', bcc: [] }))
  const { path } = requireArrived(await readArrived(sink), 'bob')
  const other = path.endsWith('a') ? 'b' : 'a'
  for (const wrong of [
    path.slice(0, -1) + other,
    '/v1/unsubscribe/x',
    '/v1/unsubscribe/preview',
    '/v1/unsubscribe/%3Cb%3E',
  ]) {
    for (const method of ['GET', 'POST']) {
      t.match(await visit(app, method, wrong), {
        status: 404,
        headers: { 'content-type': /^text\/html/ },
        text: /This link does not work/,
      })
    }
  }
  t.match(await visit(app, 'DELETE', path), { status: 405, headers: { allow: 'GET, HEAD, POST' } })
  await app.rest('DELETE', `/v1/workspaces/${app.otherWorkspaceId}`, { key: app.otherKey })
  t.same([await suppressions(app), await events(app)], [[], []])
})

t.test('a mail to the address unsubscribes too, and a later request repeats nothing', async (t) => {
  const { app, sink } = await openApp(t)
  const id = await send(app, { ...email, to: ['bob@b.test', 'carol@b.test'], bcc: [] })
  await app.waitUntilSettled(id)
  const { path } = requireArrived(await readArrived(sink), 'carol')
  const address = `unsubscribe+${path.slice('/v1/unsubscribe/'.length)}@posthorn.a.test`
  const raw = `From: carol@b.test\r\nTo: ${address}\r\nSubject: unsubscribe\r\n\r\nno more\r\n`
  t.match(await deliverInbound(t, app, { from: 'carol@b.test', to: [address], raw }), /^250 /)
  await waitUntil('it acted', async () => (await events(app)).length > 0)
  t.match(await visit(app, 'POST', path), { status: 200, text: /already/ })
  t.same(await events(app), [{ recipient: 'carol@b.test', to: 'carol@b.test', email_id: id }])
  t.match(await suppressions(app), [{ email: 'carol@b.test', source_email_id: id }])
})

t.test('copies that memory has no room for are read back', async (t) => {
  const { app, sink } = await openApp(t)
  const names = Array.from({ length: 12 }, (_, n) => `x${n}`)
  const html = `${'<p>Grüße</p>\n'.repeat(8_000)}${email.html}`
  const id = await send(app, { ...email, html, to: names.map((name) => `${name}@b.test`), bcc: [] })
  await app.waitUntilSettled(id)
  const [own] = await app.rows<{ bytes: number }>('select sum(length(bytes)) as bytes from recipient_copies')
  t.ok((own?.bytes ?? 0) > 1_048_576, 'more than is handed over in memory')
  const messages = await readArrived(sink)
  t.equal(new Set([...messages.values()].map(({ path }) => path)).size, 12)
  for (const name of names) {
    const { raw, path } = requireArrived(messages, name)
    t.equal(await verifiesDkim(app, raw), 'pass', name)
    t.match((await visit(app, 'POST', path)).text, /You are unsubscribed</)
    t.match(await app.rows('select 1 from suppressions where email = ?', `${name}@b.test`), [{}])
  }
})

t.test('after a restart each recipient gets the bytes that it would have got before', async (t) => {
  let isDown = true
  const sink = await openSink({ script: { message: () => (isDown ? '451 4.3.0 later' : '250 ok'), rcpt: '250 ok' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(1_500_000, 3).toString('base64') }]
  const id = await send(app, { ...email, attachments })
  await app.waitUntilAttempted(id)
  const shown = await Promise.all(
    ['bob', 'carol', 'dave'].map(
      async (name) => (await app.rest('GET', `/v1/emails/${id}/raw?recipient=${name}@b.test`)).text,
    ),
  )
  t.equal(new Set(shown).size, 3)
  for (const text of shown) t.match(text, /^DKIM-Signature: /)
  const [own] = await app.rows<{ bytes: number }>('select sum(length(bytes)) as bytes from recipient_copies')
  t.ok((own?.bytes ?? 0) < 10_000, 'attachments are stored once')
  await app.stop()
  isDown = false
  const again = await testDaemon(t, { folder: app.folder, routes: { 'b.test': sink }, ahead: 3_600_000 })
  await again.waitUntilSettled(id)
  const messages = await readArrived(sink)
  for (const [place, name] of ['bob', 'carol', 'dave'].entries()) {
    const { raw } = requireArrived(messages, name)
    t.ok(withoutReference(raw).toString() === shown[place], `${name} gets the same bytes`)
    t.equal(await verifiesDkim(again, raw), 'pass')
  }
})

t.test('a link outlives the records of its email, for a time', async (t) => {
  const { app, sink } = await openApp(t)
  const id = await send(app, { ...email, to: 'bob@b.test', bcc: [] })
  await app.waitUntilSettled(id)
  const { path } = requireArrived(await readArrived(sink), 'bob')
  for (const table of ['recipients', 'raw_messages', 'attempts', 'events']) {
    await app.daemon.database.commit([{ sql: `delete from ${table} where email_id = ?`, parameters: [id] }])
  }
  await app.daemon.database.commit([{ sql: 'delete from emails where id = ?', parameters: [id] }])
  t.match(await visit(app, 'GET', path), { status: 200, text: /news@a\.test/ })
  t.match(await visit(app, 'POST', path), { status: 200, text: /You are unsubscribed</ })
  t.same(await events(app), [{ recipient: 'bob@b.test', to: 'bob@b.test', email_id: id }])
  await app.daemon.database.commit([{ sql: 'delete from suppressions', parameters: [] }])
  t.match(await visit(app, 'POST', path), { status: 200 })
  t.match(
    [(await events(app)).length, await suppressions(app)],
    [1, [{ email: 'bob@b.test' }]],
    'suppressed again, without another event',
  )
  await app.daemon.database.commit([{ sql: 'delete from unsubscribe_links', parameters: [] }])
  t.match(await visit(app, 'GET', path), { status: 404 })
})

t.test('an email without the link has no fields and no copies; a client may set the fields itself', async (t) => {
  const { app, sink } = await openApp(t)
  await app.waitUntilSettled(await send(app, { ...email, html: '<p>{{unsubscribe}}</p>', text: 'x' }))
  t.notMatch(sink.messages[0]?.raw.toString(), /List-Unsubscribe/)
  t.same(await app.rows('select 1 from recipient_copies union all select 1 from unsubscribe_links'), [])
  const headers = { 'list-unsubscribe': '<https://a.test/leave>' }
  await app.waitUntilSettled(await send(app, { ...email, headers }))
  const later = sink.messages.slice(3).map(({ raw }) => raw.toString())
  t.equal(later.length, 3)
  for (const text of later) {
    t.match(text, /^list-unsubscribe: <https:\/\/a\.test\/leave>\r\n/m)
    t.notMatch(text, /List-Unsubscribe-Post/)
  }
})

t.test('a body has at most a thousand links', async (t) => {
  const { app } = await openApp(t)
  const post = (body: object): Promise<RestAnswer> =>
    app.rest('POST', '/v1/emails', { body: { ...email, to: 'bob@b.test', bcc: [], ...body } })
  t.equal((await post({ html: '{{unsubscribe_url}} '.repeat(1_000) })).status, 201)
  const over = { html: '{{unsubscribe_url}} '.repeat(1_001) }
  const refused = await post(over)
  t.match(refused.json(), { error: { code: 'validation_error', details: { errors: [{ field: 'html' }] } } })
  const made = await app.rest('POST', '/v1/templates', { body: { name: 'n', subject: 's', ...over } })
  const byTemplate = await post({ template_id: made.json<{ id: string }>().id })
  t.match(byTemplate.json(), { error: { code: 'validation_error', details: { errors: [{ field: 'template_id' }] } } })
})

t.test('copies beyond their limit are refused', async (t) => {
  const { app } = await openApp(t)
  const to = Array.from({ length: 50 }, (_, n) => `x${n}@b.test`)
  const html = `${'<p>line</p>\n'.repeat(70_000)}{{unsubscribe_url}}`
  const answer = await app.rest('POST', '/v1/emails', { body: { ...email, html, to, bcc: [] } })
  t.match(
    [answer.status, answer.json()],
    [413, { error: { code: 'payload_too_large', details: { limit: 1_048_576 } } }],
  )
  t.same(await app.rows('select 1 from emails'), [])
})
