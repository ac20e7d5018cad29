/** Replies and failures of a recipient's server, and their effect on the recipient, the queue and the sender. */
import t, { type Test } from 'tap'
import type { Timeouts } from '../../src/outbound/delivery/smtp/timeouts.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { messageText, submitMessage, type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink, type SinkAnswer, type SinkOptions, type SinkStage } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const minute = 60_000

interface QueueRow {
  readonly attempts: number
  readonly next_attempt_at: number
  readonly leased: number
  readonly last_response: string
}

const queueRow = async (app: TestDaemon, id: string): Promise<QueueRow | undefined> =>
  (
    await app.rows<QueueRow>(
      'select attempts, next_attempt_at, leased, last_response from queue where email_id = ?',
      id,
    )
  )[0]

async function eventsOf(app: TestDaemon, id: string): Promise<{ type: string; data: Record<string, unknown> }[]> {
  return (
    await app.rows<{ type: string; data: string }>('select type, data from events where email_id = ? order by seq', id)
  ).map(({ type, data }) => ({ type, data: JSON.parse(data) as Record<string, unknown> }))
}

const listSuppressed = (app: TestDaemon): Promise<unknown[]> =>
  app.rows('select email, reason, source_email_id, metadata from suppressions')

/** Reports to the app's sender. */
const reports = async (app: TestDaemon): Promise<string[]> =>
  (
    await app.rows<{ raw: Buffer }>(
      `select raw from raw_messages join emails on id = email_id where source = 'service' order by id`,
    )
  ).map(({ raw }) => raw.toString())

type Temporary = readonly (readonly [answer: SinkAnswer, reason: RegExp, response: RegExp])[]

const stages: readonly SinkStage[] = ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'message']

/** Every reply at every stage, each at a host of its own. */
async function deferrals(t: Test, answers: Temporary, timeouts: Partial<Timeouts>): Promise<void> {
  const cases = stages.flatMap((stage) => answers.map((answer) => ({ stage, answer })))
  const sinks = await Promise.all(
    cases.map(({ stage, answer: [said] }) =>
      openSink({ script: { [stage]: said, ...(stage === 'ehlo' ? { helo: said } : {}) } }),
    ),
  )
  t.teardown(() => Promise.all(sinks.map((sink) => sink.close())))
  const routes = Object.fromEntries(sinks.map((sink, n) => [`s${n}.test`, sink]))
  const app = await testDaemon(t, { routes, timeouts })
  const client = await app.openSession()
  const begun = app.now()
  const ids: string[] = []
  for (const n of cases.keys()) ids.push((await submitMessage(client, { to: [`x@s${n}.test`] })).split(' as ')[1] ?? '')
  await Promise.all(ids.map((id) => app.waitUntilAttempted(id)))
  const ended = app.now()
  for (const [n, { stage, answer }] of cases.entries()) {
    const [said, reason, response] = answer
    const id = ids[n] ?? ''
    const what = `${said} at ${stage}`
    t.match(
      await app.findStory(id),
      {
        status: 'queued',
        recipients: [{ status: 'queued', reason, last_response: response, attempts: [{ outcome: 'deferred' }] }],
      },
      what,
    )
    const row = await queueRow(app, id)
    const next = row?.next_attempt_at ?? 0
    t.match(row, { attempts: 1, leased: 0, last_response: response }, what)
    t.ok(next >= begun + 5 * minute && next <= ended + 5.5 * minute + 1, `${what}: again in five minutes`)
    const [, deferred] = await eventsOf(app, id)
    t.match(deferred, { type: 'email.deferred', data: { attempts: 1, reason, response, to: `x@s${n}.test` } }, what)
    t.equal(deferred?.data['next_attempt_at'], new Date(next).toISOString(), what)
  }
  t.same(await listSuppressed(app), [])
  t.same(await reports(app), [], 'no sender is notified yet')
  t.same(app.errors, [])
}

t.test('a temporary failure is retried after the first step of the schedule', (t) =>
  deferrals(
    t,
    [
      ['421 4.3.2 go away', /./, /^421 4\.3\.2 go away/],
      ['451 4.3.0 trouble here', /^remote-error$/, /^451 4\.3\.0 trouble here/],
      ['drop', /^connection-lost$/, /^mx\.s\d+\.test \[127\.0\.0\.1\]:\d+: connection (closed|reset)/],
      ['reset', /^connection-lost$/, /^mx\.s\d+\.test \[127\.0\.0\.1\]:\d+: connection (closed|reset)/],
    ],
    {},
  ),
)

t.test('a server that falls silent is given up after its timeout', (t) => {
  const brief = { banner: 200, ehlo: 200, mail: 200, rcpt: 200, data: 200, message: 200 }
  return deferrals(t, [['hang', /^timeout$/, /^mx\.s\d+\.test \[127\.0\.0\.1\]:\d+: no answer/]], brief)
})

t.test('a permanent failure bounces at once', async (t) => {
  const cases: readonly (readonly [script: SinkOptions, reason: string, fault: boolean])[] = [
    [{ script: { rcpt: '550 5.1.1 no such user' } }, 'bad-mailbox', true],
    [{ script: { rcpt: '550 5.2.1 mailbox disabled' } }, 'mailbox-disabled', true],
    [{ script: { message: '550 5.1.1 user unknown' } }, 'bad-mailbox', true],
    [{ script: { rcpt: '552 5.2.2 mailbox full' } }, 'mailbox-full', false],
    [{ script: { message: '554 5.7.1 spam message rejected' } }, 'spam-content', false],
    [{ script: { mail: '550 5.1.1 user unknown' } }, 'sender-rejected', false],
    [{ script: { data: '554 5.7.1 no thanks' } }, 'policy', false],
    [{ script: { rcpt: '599 what' } }, 'unclassified', false],
    [{ extensions: ['PIPELINING', 'SIZE 100'] }, 'too-large', false],
  ]
  const sinks = await Promise.all(cases.map(([options]) => openSink(options)))
  const home = await openSink()
  t.teardown(() => Promise.all([...sinks, home].map((sink) => sink.close())))
  const app = await testDaemon(t, {
    routes: { 'a.test': home, ...Object.fromEntries(sinks.map((sink, n) => [`s${n}.test`, sink])) },
  })
  for (const [n, [, reason, fault]] of cases.entries()) {
    const to = `x@s${n}.test`
    const id = await app.submitAccepted({ to: [to] })
    const story = await app.waitUntilSettled(id)
    t.match(story, { status: 'bounced', recipients: [{ status: 'bounced', reason }] }, reason)
    t.ok(story.bounced_at, reason)
    t.equal(await queueRow(app, id), undefined)
    const [, bounced] = await eventsOf(app, id)
    const response = story.recipients[0]?.last_response
    t.match(bounced, {
      type: 'email.bounced',
      data: {
        email_id: id,
        from: 'app@a.test',
        to,
        bounce_type: 'hard',
        bounce_subtype: reason,
        bounce_reason: response,
      },
    })
    const [row] = await app.rows<{ reason: string; source_email_id: string; metadata: string }>(
      'select reason, source_email_id, metadata from suppressions where email = ?',
      to,
    )
    t.match(row, fault ? { reason: 'hard_bounce', source_email_id: id } : undefined, `${reason}: suppressed: ${fault}`)
    if (row === undefined) continue
    const metadata = JSON.parse(row.metadata) as unknown
    t.same(metadata, { bounce_type: 'hard', bounce_subtype: reason, diagnostic_code: response })
  }
  await home.waitUntil(() => home.messages.length === cases.length)
  t.same(app.errors, [])
})

t.test('a permanent refusal of the session is no bounce', async (t) => {
  const sink = await openSink({ script: { banner: '554 5.7.1 not you' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  t.match(await app.waitUntilAttempted(await app.submitAccepted()), {
    status: 'queued',
    recipients: [{ last_response: /^554/ }],
  })
})

t.test('broken TLS falls back to plain text', async (t) => {
  const sink = await openSink({ broken: 'garbage' })
  const good = await openSink({ certificate: await createSelfSigned(['mx.c.test']) })
  t.teardown(() => Promise.all([sink.close(), good.close()]))
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'c.test': good } })
  const story = await app.waitUntilSettled(await app.submitAccepted({ to: ['x@b.test', 'x@c.test'] }))
  t.match(story.recipients, [
    { status: 'delivered', attempts: [{ tls: null }] },
    { status: 'delivered', attempts: [{ tls: /^TLSv1/ }] },
  ])
})

t.test('only an authoritative DNS answer is permanent', async (t) => {
  const plain = await openSink({ extensions: ['PIPELINING', '8BITMIME'] })
  t.teardown(() => plain.close())
  const app = await testDaemon(t, {
    routes: { 'plain.test': plain },
    zone: {
      'null.test': { mx: [[0, '']] },
      'nothing.test': {},
      'private.test': { mx: [[10, 'mx.private.test']] },
      'mx.private.test': { addresses: ['10.0.0.1'] },
      'silent.test': 'failure',
    },
  })
  const outcome = async (to: string, mailParameters = ''): Promise<unknown> => {
    const story = await app.waitUntilAttempted(await app.submitAccepted({ to: [to], mailParameters }))
    const [{ status, reason, attempts } = fail()] = story.recipients
    return [status, reason, attempts[0]?.mx]
  }
  t.same(await outcome('x@null.test'), ['bounced', 'null-mx', null])
  t.same(await outcome('x@gone.test'), ['bounced', 'bad-domain', null])
  t.same(await outcome('x@nothing.test'), ['bounced', 'bad-domain', null])
  t.same(await outcome('x@private.test'), ['bounced', 'private-address', null])
  t.same(await outcome('x@silent.test'), ['queued', 'dns', null])
  t.same(await outcome('jürgen@plain.test', ' SMTPUTF8'), ['bounced', 'smtputf8-unsupported', 'mx.plain.test'])
  t.same(
    (await listSuppressed(app)).map((row) => (row as { email: string }).email),
    ['x@null.test'],
  )
  const statuses = (await reports(app)).map((report) => /^Status: (\S+)/m.exec(report)?.[1])
  t.same(statuses, ['5.1.10', '5.1.2', '5.1.2', '5.4.4', '5.6.7'])
})

function fail(): never {
  throw new Error('not there')
}

const settings = { outbound: { retry_schedule: ['1h'], expire_after: '3h', delay_notice_after: '90m' } }

t.test('an entry expires when it is too old', async (t) => {
  const busy = await openSink({ script: { rcpt: '450 4.2.0 come later' } })
  const gone = await openSink()
  const once = await openSink({ script: { rcpt: '450 4.2.0 come later' } })
  const home = await openSink()
  t.teardown(() => Promise.all([busy, once, home].map((sink) => sink.close())))
  const app = await testDaemon(t, {
    settings,
    routes: { 'busy.test': busy, 'gone.test': gone, 'once.test': once, 'a.test': home },
  })
  await gone.close()
  const ids = await Promise.all(['busy', 'gone', 'once'].map((name) => app.submitAccepted({ to: [`x@${name}.test`] })))
  const tries = async (id: string): Promise<number> => (await app.findStory(id)).recipients[0]?.attempts.length ?? 0
  for (let round = 1; round <= 3; round += 1) {
    await waitUntil(`round ${round}`, async () => (await Promise.all(ids.map(tries))).every((made) => made === round))
    app.advance(66 * minute)
    if (round === 1) await once.close()
  }
  const [first, second, third] = await Promise.all(ids.map((id) => app.waitUntilSettled(id)))

  t.match(first, { status: 'bounced', recipients: [{ reason: 'expired', last_response: /^450/ }] })
  t.match((await eventsOf(app, first?.id ?? '')).at(-1), {
    type: 'email.bounced',
    data: { bounce_type: 'soft', bounce_subtype: 'expired', bounce_reason: /^450 4\.2\.0 come later/ },
  })
  t.match(second, { status: 'failed', recipients: [{ reason: 'expired', last_response: /connection refused/ }] })
  t.match((await eventsOf(app, second?.id ?? '')).at(-1), { type: 'email.failed', data: { reason: 'expired' } })
  t.match(third, { status: 'bounced', recipients: [{ reason: 'expired', last_response: /connection refused/ }] })
  t.same(await listSuppressed(app), [])

  await home.waitUntil(() => home.messages.length === 6)
  const notices = home.messages.map(({ raw }) => raw.toString())
  const about = (name: string, action: string): string =>
    notices.find((text) => text.includes(`Final-Recipient: rfc822; x@${name}.test\r\nAction: ${action}`)) ?? ''
  for (const name of ['busy', 'gone', 'once']) {
    t.match(about(name, 'delayed'), /^Will-Retry-Until: /m, `${name}: one notice of the delay`)
    t.match(about(name, 'failed'), /^Status: 4\.4\.7/m)
  }
  t.match(about('busy', 'failed'), /Remote-MTA: dns; mx\.busy\.test\r\nDiagnostic-Code: smtp; 450 4\.2\.0 come later/)
  t.match(
    about('gone', 'failed'),
    /Diagnostic-Code: x-posthorn; .*connection/,
    'where no server answered, it is our word',
  )
  t.notMatch(about('gone', 'failed'), /Remote-MTA|answered:/)
  t.same(app.errors, [])
})

t.test('the sender gets the notifications that it asked for', async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<bad') ? '550 5.1.1 no such user' : '250 2.1.5 ok') },
    extensions: ['PIPELINING'],
  })
  const knowing = await openSink()
  const home = await openSink()
  t.teardown(() => Promise.all([sink, knowing, home].map((each) => each.close())))
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'knowing.test': knowing, 'a.test': home } })
  const report = async (count: number): Promise<string> => {
    await home.waitUntil(() => home.messages.length === count)
    return home.messages.at(-1)?.raw.toString() ?? ''
  }

  const fields = ['X-Marker: here']
  const rcptParameters = ' ORCPT=rfc822;Bad+2Bbox@b.test NOTIFY=FAILURE'
  await app.submitAccepted({ to: ['bad1@b.test'], fields, mailParameters: ' RET=HDRS ENVID=QQ+2B31', rcptParameters })
  const failed = await report(1)
  t.match(home.messages[0], { mailFrom: /^<>/, rcptTo: [/^<app@a\.test>/] })
  t.match(failed, /^DKIM-Signature: [\s\S]*\bd=mail\.service\.test;/)
  t.match(failed, /^From: Mail Delivery System <posthorn@mail\.service\.test>\r\nTo: <app@a\.test>\r$/m)
  t.match(failed, /^Original-Envelope-Id: QQ\+31\r$/m)
  t.match(failed, /^Original-Recipient: rfc822;Bad\+box@b\.test\r$/m)
  t.match(failed, /^Final-Recipient: rfc822; bad1@b\.test\r\nAction: failed\r\nStatus: 5\.1\.1\r$/m)
  t.match(failed, /Content-Type: text\/rfc822-headers[\s\S]*X-Marker: here/)
  t.notMatch(failed, /a line/, 'the header alone comes back')

  await app.submitAccepted({ to: ['bad2@b.test'], mailParameters: ' RET=FULL' })
  t.match(await report(2), /Content-Type: message\/rfc822[\s\S]*a line/)

  const pleased = await app.submitAccepted({ to: ['good@b.test'], rcptParameters: ' NOTIFY=SUCCESS' })
  t.match(await report(3), /^Final-Recipient: rfc822; good@b\.test\r\nAction: relayed\r\nStatus: 2\.0\.0\r$/m)
  t.equal((await app.waitUntilSettled(pleased)).status, 'delivered')

  const silent = [
    app.submitAccepted({ to: ['bad3@b.test'], rcptParameters: ' NOTIFY=NEVER' }),
    app.submitAccepted({ to: ['bad4@b.test'], rcptParameters: ' NOTIFY=SUCCESS,DELAY' }),
    app.submitAccepted({ to: ['bad5@b.test'], from: '', raw: messageText({}) }),
    app.submitAccepted({ to: ['good@b.test'] }),
    app.submitAccepted({ to: ['good@b.test'], rcptParameters: ' NOTIFY=FAILURE' }),
    app.submitAccepted({ to: ['good@knowing.test'], mailParameters: ' ENVID=E1', rcptParameters: ' NOTIFY=SUCCESS' }),
  ]
  for (const id of await Promise.all(silent)) await app.waitUntilSettled(id)
  t.equal((await reports(app)).length, 3, 'and nothing else')
  const relayed = knowing.commands.filter((line) => /^(MAIL|RCPT)/.test(line))
  t.match(relayed, [/ENVID=E1/, /NOTIFY=SUCCESS/], 'who understands DSN is asked to report')
  t.same(app.errors, [])
})

t.test('a report that bounces causes no further report', async (t) => {
  const sink = await openSink({ script: { rcpt: '550 5.1.1 no such user' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink } })
  await app.waitUntilSettled(await app.submitAccepted())
  const report = await waitUntil(
    'the report',
    async () => (await app.rows<{ id: string }>(`select id from emails where source = 'service'`))[0],
  )
  t.equal((await app.waitUntilSettled(report.id)).status, 'bounced')
  t.equal((await reports(app)).length, 1)
  t.same(
    await app.rows('select workspace_id, email from suppressions order by email'),
    [
      { workspace_id: 'service', email: 'app@a.test' },
      { workspace_id: app.workspaceId, email: 'bob@b.test' },
    ],
    'and is the last that its address gets of the service; the workspace writes to whom it likes',
  )
  await app.waitUntilSettled(await app.submitAccepted({ to: ['carol@b.test'] }))
  t.equal((await reports(app)).length, 1, 'no report follows another that bounced')
  t.same(await app.rows(`select 1 from events where workspace_id = 'service'`), [])
})
