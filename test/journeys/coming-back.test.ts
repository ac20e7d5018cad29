/**
 * Bounces and complaints about sent mail: from our own delivery, through a real listener, to the record of the email.
 */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import { complaint, dsn } from '../helpers/receiving/report-text.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

/** a.test with its DKIM keys, SPF and DMARC published, and home.test that receives here; b.test is a sink. */
async function bothWays(t: Test): Promise<{ app: TestDaemon; sink: Awaited<ReturnType<typeof openSink>> }> {
  const first = await testDaemon(t)
  await first.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', first.otherWorkspaceId)
  const shown = (await first.cli('domain', 'show', 'a.test', '--json', '--workspace', first.workspaceId)).json()
  const { dkim_keys: keys } = shown as {
    readonly dkim_keys: readonly { readonly name: string; readonly txt: string }[]
  }
  await first.stop()
  const sink = await openSink()
  t.teardown(() => sink.close())
  const port = await freePort()
  const app = await testDaemon(t, {
    folder: first.folder,
    routes: { 'home.test': { port }, 'b.test': sink },
    settings: { inbound: { listen: [`127.0.0.1:${port}`] } },
    zone: {
      ...Object.fromEntries(keys.map(({ name, txt }) => [name, { TXT: [txt] }])),
      'posthorn.a.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
      'a.test': { TXT: ['v=spf1 -all'] },
      '_dmarc.a.test': { TXT: ['v=DMARC1; p=reject; adkim=s'] },
    },
  })
  return { app, sink }
}

/** An email that was sent to `to`, and its return path. */
async function sendEmail(
  app: TestDaemon,
  sink: Awaited<ReturnType<typeof openSink>>,
  to = 'bob@b.test',
): Promise<{ id: string; path: string; raw: string }> {
  const count = sink.messages.length
  const id = await app.submitAccepted({ to: [to] })
  await app.waitUntilSettled(id)
  const message = sink.messages[count]
  if (message === undefined) throw new Error('nothing was sent')
  return { id, path: /bounce\+[^>]*/.exec(message.mailFrom)?.[0] ?? '', raw: message.raw.toString() }
}

const events = async (app: TestDaemon, id: string): Promise<string[]> =>
  (await app.rows<{ type: string }>('select type from events where email_id = ? order by seq', id)).map(
    ({ type }) => type,
  )

const reports = async (app: TestDaemon, status: string): Promise<number> =>
  (await app.rows(`select 1 from inbound_emails where kind = 'report' and status = ?`, status)).length

async function report(t: Test, app: TestDaemon, to: string, raw: string, from = ''): Promise<void> {
  idOfReply(await deliverInbound(t, app, { from, to: [to], raw }))
  await waitUntil('the report was read', async () => (await reports(app, 'received')) === 0)
}

const { app, sink } = await bothWays(t)

t.test('mail that our delivery sends to one of our domains arrives with SPF, DKIM and DMARC pass', async (t) => {
  const id = await app.submitAccepted({ to: ['you@home.test'] })
  t.match(await app.waitUntilSettled(id), { status: 'delivered', recipients: [{ attempts: [{ tls: /^TLSv1/ }] }] })
  const [row] = await app.rows<{ id: string }>('select id from inbound_emails')
  const email = await waitUntilProcessed(app, row?.id ?? '', app.otherKey)
  t.match(email, {
    spf_result: 'pass',
    dkim_result: 'pass',
    dmarc_result: 'pass',
    spam_status: 'clean',
    envelope_from: /^bounce\+[a-z2-7]{42}@posthorn\.a\.test$/,
    envelope_to: ['you@home.test'],
    from: 'app@a.test',
  })
  t.same(app.errors, [])
})

t.test('a later bounce settles the recipient, suppresses the address and notifies the app', async (t) => {
  const recipient = 'gone@b.test'
  const { id, path } = await sendEmail(app, sink, recipient)
  await report(t, app, path, dsn({ path, status: '5.1.1', recipient }))
  t.match(await app.findStory(id), {
    status: 'bounced',
    recipients: [{ status: 'bounced', last_response: /no such user/ }],
  })
  t.same((await events(app, id)).slice(-1), ['email.bounced'])
  t.match(await app.rows('select email, reason, source_email_id, metadata from suppressions'), [
    { email: recipient, reason: 'hard_bounce', source_email_id: id, metadata: /"bounce_type":"hard"/ },
  ])
  t.match(await app.submit({ to: [recipient] }), /^554 5\.7\.1 /, 'no more mail is sent there')
  const shown = (await app.rest('GET', `/v1/emails/${id}`)).json()
  t.match(shown, { status: 'bounced' })
  t.match((await app.cli('explain', id)).out, /bounced/)

  await report(t, app, path, dsn({ path, status: '5.1.1', recipient }))
  t.equal((await events(app, id)).filter((type) => type === 'email.bounced').length, 1, 'recorded once')
  t.same((await app.rest('GET', '/v1/inbound')).json(), { data: [] }, 'a report is no inbound email')
  t.same(app.errors, [])
})

t.test('an app that submitted by SMTP gets a notification of its own', async (t) => {
  const { path } = await sendEmail(app, sink)
  await report(t, app, path, dsn({ path, status: '5.7.1', diagnostic: 'smtp; 550 5.7.1 not wanted' }))
  const [notice] = await app.rows<{ to_emails: string; raw: Buffer }>(
    `select to_emails, raw from emails join raw_messages on email_id = emails.id where emails.workspace_id = 'service'
      order by emails.created_at desc, emails.id desc limit 1`,
  )
  t.equal(notice?.to_emails, '["app@a.test"]')
  t.match(notice?.raw.toString(), /Final-Recipient: rfc822; ?bob@b\.test[\s\S]*not wanted/)
})

t.test('a forged bounce, one about another recipient and an automatic answer change nothing', async (t) => {
  const { id, path } = await sendEmail(app, sink)
  const before = [await app.findStory(id), await events(app, id)]
  const forged = path.replace(/\+./, (start) => (start === '+a' ? '+b' : '+a'))
  await report(t, app, forged, dsn({ path: forged, status: '5.1.1' }))
  const others = dsn({ path, status: '5.1.1', recipient: 'x@c.test' }).replace('--x--', '')
  const two = `${others}\r\nFinal-Recipient: rfc822; y@c.test\r\nAction: failed\r\nStatus: 5.1.1\r\n--x--\r\n`
  for (const raw of [dsn({ path, status: '5.1.1', recipient: 'x@c.test' }), two]) await report(t, app, path, raw)
  t.equal(await reports(app, 'processed'), 2, 'those about others are kept')
  const vacation = inboundText({
    from: 'bob@b.test',
    to: path,
    subject: 'Out of office',
    fields: ['Auto-Submitted: auto-replied'],
  })
  await report(t, app, path, vacation, 'bob@b.test')
  t.same([await app.findStory(id), await events(app, id)], before)
  t.same(await app.rows(`select * from suppressions where email = 'bob@b.test'`), [])
})

t.test('a complaint at fbl is matched by our reference, suppresses, and shows on the email', async (t) => {
  const { id, raw } = await sendEmail(app, sink, 'angry@b.test')
  await report(t, app, 'fbl@mail.service.test', complaint(raw), 'abuse@b.test')
  t.match(await app.findStory(id), { status: 'complained' })
  t.same((await events(app, id)).slice(-1), ['email.complained'])
  t.match(await app.rows(`select reason, metadata from suppressions where email = 'angry@b.test'`), [
    { reason: 'spam_complaint', metadata: '{"feedback_type":"abuse"}' },
  ])
  const forged = raw.replace(
    /^(X-Posthorn-Reference: ..).(.*)$/m,
    (_line, head: string, tail: string) => `${head}${tail.startsWith('q') ? 'r' : 'q'}${tail}`,
  )
  const other = await sendEmail(app, sink, 'angry@b.test').catch(() => null)
  t.equal(other, null, 'suppressed')
  await report(t, app, 'fbl@mail.service.test', complaint(forged), 'abuse@b.test')
  t.equal((await events(app, id)).filter((type) => type === 'email.complained').length, 1)
  t.same(app.errors, [])
})
