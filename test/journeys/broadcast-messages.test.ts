/** Messages of a broadcast through the whole daemon: built from their frame at each attempt, signed, shown, removed. */
import { createSecretKey } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { uuidv7 } from '../../src/base/platform/ids.js'
import { readServiceState } from '../../src/base/storage/db/service-state.js'
import type { Write } from '../../src/base/storage/db/write.js'
import { toJson } from '../../src/base/storage/tables/columns.js'
import { BroadcastComposer } from '../../src/outbound/broadcasts/compose-broadcast.js'
import { ContactMessages } from '../../src/outbound/broadcasts/contact-message.js'
import { nameBroadcastLink } from '../../src/outbound/tracking/broadcast-links.js'
import { encodeFrame } from '../../src/records/messages/frames/encode-frame.js'
import type { MessageFrame } from '../../src/records/messages/frames/message-frame.js'
import { enqueue, type NewEmail } from '../../src/records/messages/queue/enqueue.js'
import { MessagePurge } from '../../src/records/messages/retention.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { withOwnDatabase } from '../helpers/database/daemon-database.js'
import { rowOf } from '../helpers/database/rows.js'
import { plainFooter } from '../helpers/mail/plain-footer.js'
import { withoutReference } from '../helpers/mail/without-reference.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const base = 'https://links.test'
const html =
  '<html><body><p>Hello {{first_name|friend}}, {{metadata.note}}</p><a href="https://shop.test/?a=1&amp;b=2">shop</a> ' +
  '<a href="https://shop.test/{{metadata.path}}">yours</a></body></html>'
const sender = { address: parseAddress('news@a.test'), name: 'Näws' }
const metadata = toJson({ note: '<script>\r\n.\r\nBcc: x@y.test', path: 'für/dich' })

interface Broadcast {
  readonly id: string
  readonly frame: MessageFrame
  /** In the order of their addresses. */
  readonly emailIds: readonly string[]
}

interface Journey {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
}

async function openApp(t: Test, script: SinkScript = {}): Promise<Journey> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  return { app: await testDaemon(t, { routes: { 'b.test': sink } }), sink }
}

async function messagesOf({ daemon }: TestDaemon): Promise<ContactMessages> {
  const secret = (await readServiceState(daemon.database.read, { key: 'return_path_secret' }))[0]?.value ?? ''
  return new ContactMessages(createSecretKey(secret, 'base64'), base)
}

/** Stores a broadcast that is sent to these addresses. */
async function store(app: TestDaemon, to: readonly string[]): Promise<Broadcast> {
  const id = uuidv7(app.now())
  const composer = new BroadcastComposer('mail.service.test', base, { baseFor: () => base })
  const content = { sender, replyTo: [], subject: 'For {{first_name}} <{{email}}>', html, text: null }
  const ids = { broadcastId: id, audienceId: uuidv7(app.now()) }
  const { frame, links } = await composer.compose(content, { ...ids, footer: plainFooter })
  const messages = await Promise.all(to.map((address) => buildWrites(app, { id, frame }, address)))
  const own = { broadcast_id: id, workspace_id: app.workspaceId, created_at: app.now() }
  await withOwnDatabase(app, async ({ commit, read }) =>
    commit([
      await rowOf(read)('broadcast_frames', { ...own, frame: encodeFrame(frame) }),
      ...(await Promise.all(
        links.map((url) => rowOf(read)('broadcast_links', { ...own, url, url_key: nameBroadcastLink(url) })),
      )),
      ...messages.flatMap(({ writes }) => writes),
    ]),
  )
  return { id, frame, emailIds: messages.map(({ emailId }) => emailId) }
}

async function buildWrites(app: TestDaemon, { id, frame }: Omit<Broadcast, 'emailIds'>, to: string) {
  const [emailId, recipientId, now] = [`bc-${uuidv7(app.now())}`, uuidv7(app.now()), app.now()]
  const email = parseAddress(to)
  const contact = { email, first_name: 'Zoë', last_name: null, metadata }
  const { slots, ...message } = (await messagesOf(app)).build(frame, contact, { emailId, recipientId, now })
  const newEmail: NewEmail = {
    ...{ id: emailId, workspace_id: app.workspaceId, source: 'rest', message_id: message.messageId },
    ...{ envelope_from: '', envid: null, ret: null, from_email: sender.address, from_name: sender.name },
    ...{ to_emails: toJson([to]), cc_emails: toJson([]), bcc_emails: toJson([]), reply_to: toJson([]) },
    ...{ subject: message.subject, tags: toJson([]), track_opens: 1, track_clicks: 1, tracking_skipped: null },
    ...{ has_copies: 0, priority: 'low', smtputf8: message.smtputf8 ? 1 : 0, created_at: now, key_id: null },
    ...{ template_id: null, scheduled_for: null, broadcast_id: id },
  }
  const row = await rowOf(app.daemon.database.read)('broadcast_messages', {
    ...{ email_id: emailId, recipient_id: recipientId, workspace_id: app.workspaceId, broadcast_id: id },
    ...{ contact_id: recipientId, address: to, slots: JSON.stringify(slots), created_at: now },
  })
  const recipient = { address: email, suppressed: false, notify: null, orcpt: null, id: recipientId }
  const writes: readonly Write[] = enqueue(newEmail, [recipient], { size: message.size, writes: [row] }).writes
  return { emailId, writes }
}

async function verifiesDkim(app: TestDaemon, raw: Buffer): Promise<string | undefined> {
  const [record] = await app.rows<{ public_record: string }>(
    `select public_record from dkim_keys where domain = 'a.test' and signing = 1`,
  )
  const resolver = async (): Promise<string[][]> => [[record?.public_record ?? '']]
  const { results } = await dkimVerify(raw, { resolver } as never)
  return results[0]?.status.result
}

t.test('a message is signed, delivered and shown; its bytes are stored nowhere', async (t) => {
  const { app, sink } = await openApp(t)
  const { emailIds } = await store(app, ['bob@b.test', 'carol@b.test'])
  for (const id of emailIds) await app.waitUntilSettled(id)
  t.equal(sink.messages.length, 2)
  const [bob] = sink.messages.filter(({ rcptTo }) => rcptTo.some((path) => path.includes('bob')))
  const [id = ''] = emailIds
  if (bob === undefined) throw new Error('bob got no message')
  t.equal(await verifiesDkim(app, bob.raw), 'pass')
  const mail = await simpleParser(bob.raw, { skipHtmlToText: true })
  t.equal(mail.subject, 'For Zoë <bob@b.test>')
  t.equal(mail.messageId, `<${id}@mail.service.test>`)
  t.equal(mail.headers.has('bcc'), false)
  t.match(mail.html, /Hello Zoë, &lt;script&gt;\n\.\nBcc: x@y\.test<\/p>/)

  t.same(await app.rows('select count(*) as n from raw_messages'), [{ n: 0 }])
  const raw = await app.rest('GET', `/v1/emails/${id}/raw`)
  t.equal(raw.text, withoutReference(bob.raw).toString(), 'what was sent')
  t.equal(
    (await app.rows<{ size: number }>('select size from emails where id = ?', id))[0]?.size,
    sizeWithoutSignature(raw.text),
  )
  const shown = (await app.rest('GET', `/v1/emails/${id}`)).json<Record<string, unknown>>()
  t.match(shown, { id, subject: 'For Zoë <bob@b.test>', headers: {}, status: 'delivered' })
  const original = String(shown['html'])
  t.ok(original.includes('<a href="https://shop.test/?a=1&amp;b=2">shop</a>'))
  t.ok(original.includes('<a href="https://shop.test/f%C3%BCr/dich">yours</a>'))
  t.notMatch(original, /track/)
  t.match(String(shown['text']), /^Hello Zoë/)
  t.same(app.errors, [])
})

t.test('its links lead where they say, and its pixel and unsubscribe link are known', async (t) => {
  const { app, sink } = await openApp(t)
  const { emailIds } = await store(app, ['bob@b.test'])
  await app.waitUntilSettled(emailIds[0] ?? '')
  const mail = await simpleParser(sink.messages[0]?.raw ?? '', { skipHtmlToText: true })
  const urls = [...String(mail.html).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, url = '']) =>
    url.replaceAll('&amp;', '&').replace(base, ''),
  )
  const ask = (path = '') => app.rest('GET', path, { key: null })
  const [shop, yours, stop, pixel] = urls
  t.equal((await ask(shop)).headers['location'], 'https://shop.test/?a=1&b=2')
  t.equal((await ask(yours)).headers['location'], 'https://shop.test/f%C3%BCr/dich')
  t.equal((await ask(yours?.replace('dich', 'alle'))).status, 404, 'the token is of this URL alone')
  t.match(await ask(pixel), { status: 200, headers: { 'content-type': 'image/gif' } })
  t.equal((await ask(stop)).status, 200)
  t.equal(urls.length, 4)
})

/** The signature is above the message. */
function sizeWithoutSignature(text: string): number {
  return Buffer.byteLength(text.slice(text.indexOf('From: ')))
}

t.test('a message that was deferred is built anew with the same bytes and signature', async (t) => {
  let refuses = true
  const { app, sink } = await openApp(t, { message: () => (refuses ? '451 4.3.0 later' : '250 2.0.0 taken') })
  const { emailIds } = await store(app, ['bob@b.test'])
  const [id = ''] = emailIds
  await app.waitUntilAttempted(id)
  const before = await app.rest('GET', `/v1/emails/${id}/raw`)
  refuses = false
  app.advance(3_600_000)
  await app.waitUntilSettled(id)
  t.equal(withoutReference(sink.messages.at(-1)?.raw ?? Buffer.alloc(0)).toString(), before.text)
  t.equal(await verifiesDkim(app, sink.messages.at(-1)?.raw ?? Buffer.alloc(0)), 'pass')
})

t.test('after its time the bytes of a message are gone, and its record stays', async (t) => {
  const { app } = await openApp(t, {
    rcpt: ({ line }) => (line.includes('later') ? '451 4.2.1 later' : '250 2.1.5 ok'),
  })
  const { emailIds } = await store(app, ['bob@b.test', 'later@b.test'])
  const [id = '', waiting = ''] = emailIds
  await app.waitUntilSettled(id)
  await app.waitUntilAttempted(waiting)
  const purge = new MessagePurge(app.daemon.database, { messagesBefore: app.now() + 1, eventsBefore: 0 })
  await waitUntil('the purge is done', async () => !(await purge.step()))
  t.equal((await app.rest('GET', `/v1/emails/${id}/raw`)).status, 404)
  t.match((await app.rest('GET', `/v1/emails/${id}`)).json(), { id, html: null, text: null, status: 'delivered' })
  t.same(
    await app.rows('select email_id as id, slots is null as gone from broadcast_messages order by address'),
    [
      { id, gone: 1 },
      { id: waiting, gone: 0 },
    ],
    'the row stays for its links; a message in the queue keeps its bytes',
  )
  t.same(await app.rows('select email_id as id from dkim_signatures'), [{ id: waiting }])
})
