/** Links and the pixel in what is delivered, and the record of what was submitted: over SMTP and REST. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { createSelfSigned } from '../helpers/certificates.js'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import type { Json } from '../helpers/http/rest-client.js'
import { withoutReference } from '../helpers/mail/without-reference.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'

const page =
  '<html><body><p>Hi</p>\r\n<a href="https://shop.test/?a=1&amp;b=2">one</a> <A HREF=\'http://shop.test/two\'>two</A>' +
  '\r\n<a href=https://shop.test/?a=1&b=2>again</a> <a href="mailto:bob@b.test">mail</a></body></html>'

const message = (html: string, fields: readonly string[] = []): string =>
  [
    'From: App <app@a.test>',
    'To: bob@b.test',
    'Subject: hello',
    'Date: Sat, 21 Nov 2026 10:00:00 +0000',
    'Message-ID: <own@a.test>',
    'MIME-Version: 1.0',
    ...fields,
    'Content-Type: multipart/alternative; boundary=bb',
    '',
    'preamble',
    '--bb',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'See https://shop.test/?a=1&b=2',
    '--bb',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    html,
    '--bb--',
    '',
  ].join('\r\n')

const on = ['X-Service-Track-Opens: true', 'X-Service-Track-Clicks: true']

interface Delivered {
  readonly raw: Buffer
  readonly html: string
  readonly text: string
}

async function open(t: Test, options: TestDaemonOptions = {}): Promise<{ app: TestDaemon; sink: ScriptedSink }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink }, ...options })
  return { app, sink }
}

async function readDelivered({ app, sink }: { app: TestDaemon; sink: ScriptedSink }, id: string): Promise<Delivered> {
  t.equal((await app.waitUntilSettled(id)).status, 'delivered')
  const raw = sink.messages.at(-1)?.raw ?? Buffer.alloc(0)
  const { html, text = '' } = await simpleParser(raw, { skipTextToHtml: true })
  return { raw, html: html === false ? '' : html, text }
}

interface LinkRow {
  readonly id: string
  readonly url: string
}

const linksOf = (app: TestDaemon, id: string): Promise<LinkRow[]> =>
  app.rows<LinkRow>('select id, url from links where email_id = ? order by url', id)

async function showRecord(app: TestDaemon, id: string): Promise<Json> {
  const answer = await app.rest('GET', `/v1/emails/${id}`)
  t.equal(answer.status, 200)
  return answer.json()
}

async function isSigned(app: TestDaemon, raw: Buffer): Promise<boolean> {
  const [key] = await app.rows<{ public_record: string }>(
    `select public_record from dkim_keys where domain = 'a.test' and signing = 1`,
  )
  const resolver = async (): Promise<string[][]> => [[key?.public_record ?? '']]
  const { results } = await dkimVerify(raw, { resolver } as never)
  return results.length === 1 && results[0]?.status?.result === 'pass'
}

t.test('SMTP: header fields turn it on; the rest of the message and the record stay', async (t) => {
  const place = await open(t)
  const { app } = place
  const id = await app.submitAccepted({ raw: message(page, on) })
  const { raw, html, text } = await readDelivered(place, id)
  const links = await linksOf(app, id)
  t.same(
    links.map(({ url }) => url),
    ['http://shop.test/two', 'https://shop.test/?a=1&b=2'],
    'one link for each URL',
  )
  const [two, one] = links.map((link) => `https://mail.service.test/v1/track/click/${link.id}`)
  const pixel = `<img src="https://mail.service.test/v1/track/open/${id}" width="1" height="1" alt="" style="width:1px;height:1px;border:0">`
  t.equal(
    html.replaceAll('\n', '\r\n').replaceAll('\r\r', '\r'),
    '<html><body><p>Hi</p>\r\n' +
      `<a href="${one}">one</a> <A HREF='${two}'>two</A>\r\n<a href="${one}">again</a> ` +
      `<a href="mailto:bob@b.test">mail</a>${pixel}</body></html>`,
  )
  t.match(text, 'See https://shop.test/?a=1&b=2', 'text is never rewritten')
  t.notMatch(raw.toString(), /X-Service/)
  t.ok(await isSigned(app, raw))
  const record = await showRecord(app, id)
  t.same(record['tracking'], { open: true, click: true })
  t.equal(String(record['html']).trim().replace(/\r?\n/g, '\r\n'), page, 'the record shows what was submitted')
  t.equal((await app.rest('GET', `/v1/emails/${id}/raw`)).text, withoutReference(raw).toString(), 'what goes out')
  const explained = await app.cli('explain', id, '--json')
  t.match((explained.json() as { html: string }).html, 'https://shop.test/?a=1&amp;b=2')
  t.same(app.errors, [])
})

t.test('SMTP: off by default, byte for byte; the domain can turn it on', async (t) => {
  const place = await open(t)
  const { app } = place
  const plain = message(page)
  const off = await app.submitAccepted({ raw: plain })
  const first = await readDelivered(place, off)
  t.ok(first.raw.toString().endsWith(plain), 'only header fields are added, on top')
  t.same(await linksOf(app, off), [])
  t.same((await showRecord(app, off))['tracking'], { open: false, click: false })

  const domains = (await app.rest('GET', '/v1/domains')).json()['data'] as unknown as { id: string; domain: string }[]
  const domain = domains.find((one) => one.domain === 'a.test')
  const answer = await app.rest('PATCH', `/v1/domains/${domain?.id}`, {
    body: { tracking: { open: false, click: true } },
  })
  t.equal(answer.status, 200)
  const clicks = await app.submitAccepted({ raw: plain })
  const { html } = await readDelivered(place, clicks)
  t.match(html, '/v1/track/click/')
  t.notMatch(html, '/v1/track/open/')
  t.same((await showRecord(app, clicks))['tracking'], { open: false, click: true })
  const none = ['X-Service-Track-Opens: FALSE', 'X-Service-Track-Clicks: False']
  const against = await readDelivered(place, await app.submitAccepted({ raw: message(page, none) }))
  t.ok(against.raw.toString().endsWith(plain.slice(plain.indexOf('Content-Type'))), 'header fields outweigh it')
})

t.test('SMTP: a message that cannot be taken apart goes out as it is, and its email says why', async (t) => {
  const place = await open(t)
  const { app } = place
  const cases: readonly [string, string][] = [
    ['malformed', message(page, on).replace('--bb--', '')],
    ['charset', message(page, on).replaceAll('charset=utf-8', 'charset=x-unheard-of')],
    ['encoding', message(page, on).replace('8bit', 'uuencode')],
    ['signed', message(page, on).replace('multipart/alternative', 'multipart/signed')],
  ]
  for (const [reason, raw] of cases) {
    const id = await app.submitAccepted({ raw })
    const delivered = await readDelivered(place, id)
    t.ok(delivered.raw.toString().endsWith(raw.slice(raw.indexOf('Content-Type'))), reason)
    t.same((await showRecord(app, id))['tracking'], { open: true, click: true, skipped: reason })
    t.same(await linksOf(app, id), [], 'no link is stored')
  }
})

t.test('SMTP: an HTML message without parts, whose lines become too long', async (t) => {
  const place = await open(t)
  const { app } = place
  const long = `<p>${'x'.repeat(950)}<a href=http://b.test/>ü</a>`
  const head = ['From: App <app@a.test>', 'To: bob@b.test', ...on, 'Content-Type: text/html; charset=utf-8']
  const raw = [...head, 'Content-Transfer-Encoding: 8bit', 'Subject: hello', '', long, ''].join('\r\n')
  const id = await app.submitAccepted({ raw })
  const delivered = await readDelivered(place, id)
  const [header = ''] = delivered.raw.toString().split('\r\n\r\n')
  t.same(header.match(/^Content-Transfer-Encoding:.*$/gim), ['Content-Transfer-Encoding: quoted-printable'])
  t.notMatch(header, /X-Service/)
  t.ok(delivered.raw.toString().endsWith('\r\n'))
  t.match(delivered.html, `/v1/track/click/${(await linksOf(app, id))[0]?.id}">ü</a><img `)
  t.ok(await isSigned(app, delivered.raw))
  t.equal(String((await showRecord(app, id))['html']).trim(), long)
  t.same(app.errors, [])
})

t.test('REST: on by default, made text has the own URLs, and off is off', async (t) => {
  const place = await open(t)
  const { app } = place
  const base = { from: 'app@a.test', to: ['bob@b.test', 'carol@b.test'], subject: 'hello', html: page }
  const send = async (more: object): Promise<string> => {
    const answer = await app.rest('POST', '/v1/emails', { body: { ...base, ...more } })
    t.equal(answer.status, 201, answer.text)
    return String(answer.json()['id'])
  }
  const id = await send({})
  const { raw, html, text } = await readDelivered(place, id)
  t.equal((await linksOf(app, id)).length, 2)
  for (const link of await linksOf(app, id)) t.match(html, `/v1/track/click/${link.id}`)
  t.match(html, `/v1/track/open/${id}`)
  t.match(text, 'https://shop.test/?a=1&b=2')
  t.notMatch(text, '/v1/track/')
  t.ok(await isSigned(app, raw))
  const record = await showRecord(app, id)
  t.same(record['tracking'], { open: true, click: true })
  t.equal(record['html'], page.replace(/\r\n/g, '\n'), 'as submitted, with the line ends of records')

  const off = await send({ tracking: { open: false, click: false } })
  t.notMatch((await readDelivered(place, off)).html, '/v1/track/')
  t.same((await showRecord(app, off))['tracking'], { open: false, click: false })
  const textOnly = await send({ html: undefined, text: 'https://shop.test/' })
  t.notMatch((await readDelivered(place, textOnly)).raw.toString(), '/v1/track/')
  const large = await send({ html: `<p>${'<b>x</b>'.repeat(40_000)}` })
  await app.waitUntilSettled(large)
  t.same((await showRecord(app, large))['tracking'], { open: true, click: true, skipped: 'too-large' })
  t.same(app.errors, [])
})

t.test('links bear the mail host of the domain while the certificate names it', async (t) => {
  const { cert, key } = await createSelfSigned(['posthorn.a.test', 'localhost', '127.0.0.1'])
  const other = await createSelfSigned(['posthorn.other.test', 'localhost'])
  const folder = t.testdir()
  const files = { cert_file: join(folder, 'cert.pem'), key_file: join(folder, 'key.pem') }
  writeFileSync(files.cert_file, cert)
  writeFileSync(files.key_file, key)
  const place = await open(t, {
    settings: { tls: files, service: { public_url: 'https://mail.service.test:8443/base' } },
  })
  const { app } = place
  const named = await readDelivered(place, await app.submitAccepted({ raw: message(page, on) }))
  t.match(named.html, 'https://posthorn.a.test:8443/base/v1/track/click/')
  writeFileSync(files.cert_file, other.cert)
  writeFileSync(files.key_file, other.key)
  await app.daemon.loadCertificate(files)
  const unnamed = await readDelivered(place, await app.submitAccepted({ raw: message(page, on) }))
  t.match(unnamed.html, 'https://mail.service.test:8443/base/v1/track/click/')
  t.notMatch(unnamed.html, 'posthorn.a.test')
})
