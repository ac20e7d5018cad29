/** From the submission to the sink: what arrives, what is stored, what is reported. */
import { createSecretKey } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { recipientOfReference, recipientOfReturnPath } from '../../src/base/mail/recipient-token.js'
import { messageText, submitMessage, type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { copySeed } from '../helpers/database/seed-data.js'
import { withoutReference } from '../helpers/mail/without-reference.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'

interface EventRow {
  readonly type: string
  readonly recipient: string | null
  readonly data: string
}

async function events(
  app: TestDaemon,
  id: string,
): Promise<(EventRow & { readonly payload: Record<string, unknown> })[]> {
  return (await app.rows<EventRow>('select type, recipient, data from events where email_id = ? order by seq', id)).map(
    (row) => ({ ...row, payload: JSON.parse(row.data) as Record<string, unknown> }),
  )
}

const sentMessage = [
  'From: "App" <app@a.test>',
  'To: Bob <bob@b.test>',
  'Cc: carol@b.test',
  'Bcc: dave@b.test',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  'X-Service-Tag: campaign=spring',
  'X-PM-Tag: welcome',
  'X-Mailgun-Track-Clicks: yes',
  'X-SES-Message-Tags: a=1,',
  ' b=2',
  'X-Service-Track-Opens: TRUE',
  'Return-Path: <forged@a.test>',
  'X-Own:  kept   as it is  ',
  'Message-ID: <given@a.test>',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  '',
  '.a dot',
  'trailing blanks  ',
  '',
  '',
  'end',
  '',
].join('\r\n')

t.test('a message that another service would drop is stored as cancelled, and no server gets it', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const raw = sentMessage.replace('X-Own:', 'X-Mailgun-Drop-Message: yes\r\nX-Own:')
  const id = await app.submitAccepted({ to: ['bob@b.test', 'carol@b.test'], raw })
  const sent = await app.submitAccepted({ to: ['bob@b.test'], raw: sentMessage })
  await app.waitUntilSettled(sent)
  t.equal(sink.messages.length, 1, 'that of the other email')
  t.same(await app.rows('select status from emails where id = ?', id), [{ status: 'cancelled' }])
  t.same(await app.rows('select distinct status from recipients where email_id = ?', id), [{ status: 'cancelled' }])
  t.same(await app.rows('select * from queue'), [])
  t.same(app.errors, [])
})

const tags = { campaign: 'spring', tag: 'welcome', a: '1', b: '2' }

t.test('a submitted message arrives with our fields on top and every other byte unchanged', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const id = await app.submitAccepted({ to: ['bob@b.test', 'carol@b.test', 'dave@b.test'], raw: sentMessage })
  const story = await app.waitUntilSettled(id)

  await t.test('the record', async (t) => {
    t.equal(story.status, 'delivered')
    t.equal(story.message_id, '<given@a.test>')
    t.equal(story.from, 'app@a.test')
    t.equal(story.subject, 'Grüße')
    t.same([story.to, story.cc, story.bcc], [['bob@b.test'], ['carol@b.test'], ['dave@b.test']])
    t.same(Object.fromEntries(story.tags.map(({ name, value }) => [name, value])), tags)
    t.same(story.tracking, { open: true, click: true })
    for (const recipient of story.recipients) {
      t.match(recipient, { status: 'delivered', last_response: '250 2.0.0 taken', mx: 'mx.b.test', held: false })
      t.equal(recipient.attempts.length, 1)
      t.match(recipient.attempts[0], {
        number: 1,
        mx: 'mx.b.test',
        address: '127.0.0.1',
        tls: null,
        outcome: 'delivered',
        reason: null,
        response: '250 2.0.0 taken',
        next_attempt_at: null,
      })
      t.match(recipient.transcript, /RCPT TO/)
    }
    t.ok(story.sent_at !== null && story.delivered_at !== null && story.bounced_at === null)
    t.same(await app.rows('select * from queue'), [], 'nothing stays in the queue')
    t.same(app.errors, [])
  })

  await t.test('the bytes', async (t) => {
    const [first, ...others] = sink.messages.map(({ raw }) => withoutReference(raw).toString('latin1'))
    const [signature = '', received = '', ...rest] = (first ?? '').split(/\r\n(?![ \t])/)
    t.match(signature, /^DKIM-Signature: /)
    const date = '[A-Z][a-z]{2}, \\d{1,2} [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d [+-]\\d{4}'
    t.match(received, new RegExp(`^Received: by mail\\.service\\.test with ESMTPA id ${id};\\r\\n\\t${date}$`))
    const kept = sentMessage
      .split(/\r\n(?![ \t])/)
      .filter((line) => !/^(Bcc|X-Service-|X-PM-|X-Mailgun-|X-SES-|Return-Path)/.test(line))
    const added = rest.findIndex((line) => line.startsWith('Date: '))
    t.equal(added, kept.indexOf(''), 'Date is added after the last field')
    t.same(rest.toSpliced(added, 1), kept)
    for (const other of others) t.equal(other, first, 'each recipient gets the same bytes')
    const stored = await app.rows<{ raw: Buffer; field: string }>(
      'select raw, field from raw_messages join dkim_signatures using (email_id)',
    )
    t.equal(`${stored[0]?.field}${stored[0]?.raw.toString('latin1')}`, first, 'and they are kept')
  })

  await t.test('the signature verifies with the stored record', async (t) => {
    const [record] = await app.rows<{ public_record: string; selector: string }>(
      `select public_record, selector from dkim_keys where domain = 'a.test' and signing = 1`,
    )
    const resolver = async (name: string): Promise<string[][]> => {
      t.equal(name, `${record?.selector}._domainkey.a.test`)
      return [[record?.public_record ?? '']]
    }
    for (const { raw } of sink.messages) {
      const { results } = await dkimVerify(raw, { resolver } as never)
      t.match(results, [{ signingDomain: 'a.test', status: { result: 'pass', aligned: 'a.test' } }])
    }
  })

  await t.test('each recipient has its own transaction and return path', async (t) => {
    const [secret] = await app.rows<{ value: string }>(
      `select value from service_state where key = 'return_path_secret'`,
    )
    const key = createSecretKey(secret?.value ?? '', 'base64')
    t.equal(sink.messages.length, 3)
    for (const { mailFrom, rcptTo, raw } of sink.messages) {
      const [, local = '', host] = /^<(.+)@(.+)>/.exec(mailFrom) ?? []
      t.equal(host, 'posthorn.a.test')
      const [, reference = ''] = /^X-Posthorn-Reference: (.+)\r\n/.exec(raw.toString('latin1', 0, 100)) ?? []
      t.equal(recipientOfReference(key, reference), recipientOfReturnPath(key, local), 'and a reference')
      const [recipient] = await app.rows<{ address: string }>(
        'select address from recipients where id = ?',
        recipientOfReturnPath(key, local),
      )
      t.match(rcptTo, [new RegExp(`^<${recipient?.address}>`)])
    }
  })

  await t.test('the events', async (t) => {
    const recorded = await events(app, id)
    t.same(recorded.map(({ type }) => type).sort(), [
      ...Array(3).fill('email.delivered'),
      ...Array(3).fill('email.queued'),
      ...Array(3).fill('email.sent'),
    ])
    const about = { email_id: id, from: 'app@a.test', subject: 'Grüße', tags }
    for (const to of ['bob@b.test', 'carol@b.test', 'dave@b.test']) {
      const [queued, sent, delivered, ...more] = recorded.filter(({ recipient }) => recipient === to)
      t.same(more, [])
      t.same([queued?.type, queued?.payload], ['email.queued', { ...about, to }])
      t.equal(sent?.type, 'email.sent')
      t.equal(delivered?.type, 'email.delivered')
      const { sent_at, ...rest } = sent?.payload ?? {}
      t.same(rest, { ...about, to })
      t.match(sent_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      t.match(delivered?.payload, { ...about, to })
    }
  })
})

t.test('an email with several recipients has the status that fits first', async (t) => {
  const sink = await openSink({
    script: {
      rcpt: ({ line }) =>
        /<(bad|poor)@/.test(line)
          ? '550 5.1.1 no such user'
          : /<later@/.test(line)
            ? '451 4.3.0 later'
            : '250 2.1.5 ok',
    },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const statuses = async (...to: readonly string[]): Promise<string[]> => {
    const story = await app.waitUntilAttempted(await app.submitAccepted({ to }))
    return [story.status, ...story.recipients.map(({ status }) => status)]
  }
  t.same(await statuses('good@b.test', 'bad@b.test', 'later@b.test'), ['queued', 'delivered', 'bounced', 'queued'])
  t.same(await statuses('good@b.test', 'poor@b.test'), ['delivered', 'delivered', 'bounced'])
  t.same(
    await statuses('bad@b.test', 'other@b.test'),
    ['delivered', 'suppressed', 'delivered'],
    'bad is suppressed now',
  )
})

t.test('behind a smarthost an email is sent, not delivered', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, {
    settings: {},
    routes: { '*': sink },
    zone: { 'mx.*': { addresses: ['127.0.0.1'] } },
  })
  const id = await app.submitAccepted()
  const story = await app.waitUntilSettled(id)
  t.match(story, { status: 'sent', delivered_at: null, recipients: [{ status: 'sent', delivered_at: null }] })
  t.ok(story.sent_at)
  t.same(
    (await events(app, id)).map(({ type }) => type),
    ['email.queued', 'email.sent'],
  )
})

t.test('a later attempt sends the very same bytes', async (t) => {
  const script = {
    rcpt: ({ line }: { readonly line: string }) =>
      line.includes('<later') && first ? '450 4.2.0 later' : '250 2.1.5 ok',
  }
  let first = true
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const id = await app.submitAccepted({ to: ['now@b.test', 'later@b.test'] })
  await app.waitUntilAttempted(id)
  first = false
  app.advance(6 * 60_000)
  await app.waitUntilSettled(id)
  const [one, two, ...more] = sink.messages
  t.same(more, [])
  t.ok(
    one !== undefined && two !== undefined && withoutReference(one.raw).equals(withoutReference(two.raw)),
    'the signature, too, was made once',
  )
  t.not(one?.mailFrom, two?.mailFrom)
})

t.test('a trusted network submits without a key, for its workspace', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const { workspaceId } = await copySeed(null)
  const trusted = [{ network: '127.0.0.0/8', workspace: workspaceId }]
  const settings = { submission: { trusted, max_recipients: 60 } }
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings })
  const printer = await dial(app.daemon.submission[0]?.port ?? 0)
  t.teardown(() => printer.end())
  await printer.readReply()
  await printer.sendCommand('EHLO printer.test')
  t.match(await submitMessage(printer, { from: 'scan@a.test', raw: messageText({ from: 'scan@a.test' }) }), /^250/)
  t.match(await submitMessage(printer, { from: 'scan@other.test' }), /^550 5\.7\.1/, 'and for no other')
  await sink.waitUntil(() => sink.messages.length === 1)
  t.match(sink.messages[0]?.raw.toString(), /^Received: by mail\.service\.test with ESMTP id /m)
  const many = Array.from({ length: 60 }, (_, n) => `r${n}@b.test`)
  t.equal(
    (await app.waitUntilSettled(await app.submitAccepted({ to: many }))).recipients.length,
    60,
    'as many as the setting allows',
  )
})

t.test('a failed start leaves nothing open', async (t) => {
  const app = await testDaemon(t)
  const busy = `127.0.0.1:${app.daemon.submission[0]?.port}`
  const folder = temporaryFolder(t)
  await t.rejects(testDaemon(t, { folder, settings: { submission: { listen: [busy] } } }), { code: 'EADDRINUSE' })
  const again = await testDaemon(t, { folder })
  t.match(again.daemon.submission, [{ tls: false }, { tls: true }], 'the folder is free, the database too')
})
