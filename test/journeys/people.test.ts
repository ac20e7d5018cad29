/**
 * Mail to the users of the service, from the request to their mail server; and the deletion of a workspace across a
 * crash.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { databaseFile, openDatabase } from '../../src/base/storage/open.js'
import { recordEvent } from '../../src/records/events/event-log.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { bulkEmail } from '../helpers/database/bulk.js'
import { tablesWith } from '../helpers/database/rows.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import { createReadyInstallation, runForJson, serve } from './support/program.js'

async function withSink(t: Test): Promise<{ app: TestDaemon; sink: ScriptedSink }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  return { app: await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink } }), sink }
}

const invite = async (app: TestDaemon, email: string): Promise<string> => {
  const body = { email, role: 'member', workspaceId: app.workspaceId }
  return (await app.rest('POST', '/v1/members', { body })).json<{ data: { id: string } }>().data.id
}

/** The verdict on the signature of the service. */
async function dkimOf(app: TestDaemon, raw: Buffer): Promise<unknown> {
  const [key] = await app.rows<{ record: string }>(
    `select public_record as record from dkim_keys where workspace_id = 'service'`,
  )
  const { results } = await dkimVerify(raw, { resolver: async () => [[key?.record ?? '']], strict: true })
  return results.map(({ signingDomain, status }) => [signingDomain, status.result])
}

t.test('an invitation arrives as signed mail of the service, and its link works', async (t) => {
  const { app, sink } = await withSink(t)
  await app.rest('PATCH', `/v1/workspaces/${app.workspaceId}`, { body: { name: 'Zürich <b>Bcc: x@evil.test</b>' } })
  await invite(app, 'nina@b.test')
  await sink.waitUntil(() => sink.messages.length === 1)
  const [message] = sink.messages
  if (message === undefined) throw new Error('nothing came')
  t.match(message, { mailFrom: '<>', rcptTo: [/^<nina@b\.test>/] })
  t.same(await dkimOf(app, message.raw), [['mail.service.test', 'pass']])
  const mail = await simpleParser(message.raw)
  t.match(mail, {
    subject: 'Invitation to a workspace',
    from: { text: '"Posthorn" <posthorn@mail.service.test>' },
    text: /^owner@a\.test invites you to join the workspace "Zürich b Bcc x evil test b" as a member\./,
  })
  t.notOk(mail.headers.has('bcc'))
  t.equal(mail.headers.get('auto-submitted'), 'auto-generated')
  t.match(mail.html, '&quot;Zürich b Bcc x evil test b&quot;')
  const url = /https:\/\/\S+/.exec(mail.text ?? '')?.[0] ?? ''
  t.match(url, /^https:\/\/mail\.service\.test\/ui\/invitation\?token=/)
  t.ok(String(mail.html).includes(`href="${url}"`))
  t.match(await app.rows(`select source, workspace_id from emails`), [{ source: 'service', workspace_id: 'service' }])
  t.equal((await app.rest('GET', '/v1/usage')).json<{ usage: { emails_sent: number } }>().usage.emails_sent, 0)

  const token = new URL(url).searchParams.get('token')
  const body = { token, full_name: 'Nina', password: 'correct horse battery' }
  const accepted = await app.rest('POST', '/v1/invitations/accept', { key: null, body })
  t.equal(accepted.status, 201)
  const { api_key: key } = accepted.json<{ data: { api_key: string } }>().data
  const sent = await app.rest('POST', '/v1/emails', {
    key,
    body: { from: 'app@a.test', to: 'nina@b.test', subject: 's', text: 't' },
  })
  t.equal(sent.status, 201, 'and she sends')
  t.same(app.errors, [])
})

t.test('an address that bounced mail of the service gets no more of it until the operator allows it', async (t) => {
  const sink = await openSink({ script: { rcpt: () => '550 5.1.1 no such user' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink } })
  const id = await invite(app, 'Gone@b.test')
  const list = async (): Promise<unknown> => (await app.cli('suppression', 'list', '--service', '--json')).json()
  await waitUntil('it bounced', async () => (await app.rows('select 1 from suppressions')).length > 0)
  t.match(await list(), { data: [{ email: 'gone@b.test', reason: 'hard_bounce' }] })
  t.match(
    (await app.rest('GET', '/v1/suppressions')).json(),
    { data: { length: 0 } },
    'it is on no list of a workspace',
  )
  await app.rest('DELETE', `/v1/invitations/${id}?workspaceId=${app.workspaceId}`)
  const body = { email: 'gone@b.test', role: 'member', workspaceId: app.workspaceId }
  const again = await app.rest('POST', '/v1/members', { body })
  t.match(again.json(), { error: { code: 'all_recipients_suppressed', details: { suppressed: ['gone@b.test'] } } })

  // Mail of any kind: a warning is not written either.
  const event = { workspaceId: app.workspaceId, emailId: null, recipient: null, at: 1 }
  const mails = async (): Promise<number> => (await app.rows('select 1 from emails')).length
  const { commit } = app.daemon.database
  await commit([
    { sql: `update users set email = 'gone@b.test' where email = 'owner@a.test'`, parameters: [] },
    recordEvent({ ...event, type: 'domain.broken', data: { domain: 'a.test' } }),
  ])
  await waitUntil('the event is processed', async () => {
    const [row] = await app.rows<{ isNotified: number }>(
      `select (select max(seq) from events) in (select cast(value as integer) from service_state
        where key like 'notices_cursor%') as "isNotified"`,
    )
    return row?.isNotified === 1
  })
  t.equal(await mails(), 1)

  t.match(await app.cli('suppression', 'delete', 'GONE@b.test', '--service'), { status: 0, out: /written to again/ })
  t.match(await app.cli('suppression', 'delete', 'gone@b.test', '--service'), { status: 1, err: /not on the list/ })
  t.equal((await app.cli('suppression', 'list', '--service', '--workspace', 'x')).status, 2)
  t.same(await list(), { data: [] })
  t.same(app.errors, [])
})

t.test(
  'each event is mailed once, across restarts; what was cancelled before is not mailed',
  { skip: skipOnPostgres('its trigger is written in those words') },
  async (t) => {
    const { app, sink } = await withSink(t)
    await invite(app, 'one@b.test')
    await sink.waitUntil(() => sink.messages.length === 1)
    await app.stop()
    const again = await testDaemon(t, { folder: app.folder, routes: { 'b.test': sink, 'a.test': sink } })
    const { commit } = again.daemon.database
    const unaddressed = {
      workspaceId: again.workspaceId,
      type: 'invitation.created',
      emailId: null,
      recipient: null,
    } as const
    // An invitation that is gone, one that cannot be read, and then a pending one.
    await commit([
      recordEvent({ ...unaddressed, at: 1, data: { invitation_id: 'gone' } }),
      { sql: `update events set data = 'no JSON' where seq = (select max(seq) from events)`, parameters: [] },
      recordEvent({ ...unaddressed, at: 1, data: { invitation_id: 'gone' } }),
    ])
    await commit([
      {
        sql: `create trigger poison before insert on emails when new.to_emails like '%never@%'
        begin select raise(abort, 'poison'); end`,
        parameters: [],
      },
    ])
    await invite(again, 'never@b.test')
    await invite(again, 'two@b.test')
    await sink.waitUntil(() => sink.messages.length === 2)
    await again.stop()
    const third = await testDaemon(t, { folder: app.folder, routes: { 'b.test': sink, 'a.test': sink } })
    await invite(third, 'three@b.test')
    await sink.waitUntil(() => sink.messages.length === 3)
    t.same(
      sink.messages.map(({ rcptTo }) => /<(.*)>/.exec(rcptTo[0] ?? '')?.[1]),
      ['one@b.test', 'two@b.test', 'three@b.test'],
    )
    t.equal(again.errors.filter((line) => line.includes('a notice could not be written')).length, 2)
    t.same([...app.errors, ...third.errors], [])
  },
)

t.test('owner and admins are notified of a domain whose records are gone, members are not', async (t) => {
  const { app, sink } = await withSink(t)
  const { commit } = app.daemon.database
  const add = (id: string, role: string): object => ({ id, role })
  for (const { id, role } of [add('boss', 'admin'), add('mere', 'member')] as { id: string; role: string }[]) {
    await commit([
      {
        sql: 'insert into users (id, email, full_name, created_at) values (?, ?, ?, 0)',
        parameters: [id, `${id}@b.test`, id],
      },
      {
        sql: 'insert into members (id, workspace_id, user_id, role, joined_at) values (?, ?, ?, ?, 0)',
        parameters: [`m-${id}`, app.workspaceId, id, role],
      },
    ])
  }
  const event = { workspaceId: app.workspaceId, emailId: null, recipient: null, at: 1 }
  const records = [
    { type: 'CNAME', name: 'posthorn.a.test', expected: 'x.mail.service.test', found: null, status: 'pending' },
    {
      type: 'CNAME',
      name: 'dkim1._domainkey.a.test',
      expected: 'y.mail.service.test',
      found: null,
      status: 'verified',
    },
  ]
  const data = { domain: 'a.test', fails_at: '2026-11-25T10:00:00.000Z', records }
  await commit([recordEvent({ ...event, type: 'domain.broken', data })])
  await sink.waitUntil(() => sink.messages.length === 2)
  const to = sink.messages.map(({ rcptTo }) => /<(.*)>/.exec(rcptTo[0] ?? '')?.[1]).sort()
  t.same(to, ['boss@b.test', 'owner@a.test'])
  const mail = await simpleParser(sink.messages[0]?.raw ?? '')
  t.match(mail, { subject: 'DNS records of a.test are missing or wrong', text: /stops on 2026-11-25 10:00 UTC/ })
  t.match(mail.text, 'posthorn.a.test CNAME x.mail.service.test')
  t.notMatch(mail.text, 'dkim1')
  await commit([recordEvent({ ...event, type: 'domain.failed' as never, data: { domain: 'a.test', asked: true } })])
  await commit([recordEvent({ ...event, type: 'domain.failed' as never, data: { domain: 'a.test' } })])
  await sink.waitUntil(() => sink.messages.length === 4)
  t.match((await simpleParser(sink.messages[3]?.raw ?? '')).subject, 'Sending from a.test has stopped')
  t.same(app.errors, [])
})

t.test('queued mail of a deleted workspace is not sent, and that of others is', async (t) => {
  let open = false
  const sink = await openSink({ script: { rcpt: () => (open ? '250 2.1.5 ok' : '450 4.2.0 later') } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const mine = await app.submitAccepted({ to: ['bob@b.test'] })
  const theirs = await app.submitAccepted({ key: app.otherKey, from: 'app@other.test', to: ['bob@b.test'] })
  await app.waitUntilAttempted(mine)
  await app.waitUntilAttempted(theirs)
  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)).status, 200)
  open = true
  app.advance(3_600_000)
  await sink.waitUntil(() => sink.messages.length === 1)
  await waitUntil('nothing of it waits', async () => (await app.rows('select 1 from queue')).length === 0)
  t.match(await app.findStory(theirs), { status: 'delivered' })
  t.match(sink.messages, [{ mailFrom: /posthorn\.other\.test/ }])
  t.same(app.errors, [])
})

t.test('an attempt that outlives its workspace ends without error, and its writes are erased too', async (t) => {
  let answer: (reply: string) => void = () => undefined
  const message = new Promise<string>((resolve) => {
    answer = resolve
  })
  const sink = await openSink({ script: { message: () => message } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink }, stopTimeouts: { listeners: 100, delivery: 5_000 } })
  await app.submitAccepted({ to: ['bob@b.test'] })
  await waitUntil('it is on the wire', () => sink.commands.some((line) => /^DATA/i.test(line)))
  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)).status, 200)
  await waitUntil(
    'it is erased',
    async () => (await tablesWith(app.daemon.database.read, app.workspaceId)).join() === 'erasures',
  )
  answer('550 5.1.1 no such user')
  await waitUntil('the outcome is written', async () => (await app.rows('select 1 from attempts')).length > 0)
  t.same(await app.rows('select subject from emails'), [], 'no report is sent about mail that was deleted')
  await app.stop()
  const later = await testDaemon(t, { folder: app.folder, routes: { 'b.test': sink } })
  await waitUntil(
    'and erased',
    async () => (await tablesWith(later.daemon.database.read, app.workspaceId)).length === 0,
  )
  t.same([...app.errors, ...later.errors], [])
})

t.test('a daemon that is killed while it erases a workspace finishes the erasure at the next start', async (t) => {
  const at = await createReadyInstallation(t, 1, '127.0.0.0/8')
  const other = await runForJson(at, 'workspace', 'create', 'Other', '--email', 'owner@other.test')
  await runForJson(at, 'workspace', 'set-operator', String(other['workspace_id']))
  const database = await openDatabase({ file: databaseFile(at.dataDir) })
  const now = Date.now()
  const scheduledFor = now + 86_400_000
  for (const [workspaceId, count] of [
    [at.workspace, 45],
    [String(other['workspace_id']), 1],
  ] as const) {
    for (let portion = 0; portion < count; portion += 1) {
      const emails = Array.from({ length: 200 }, () =>
        bulkEmail({ workspaceId, to: 'bob@sink.test', at: now, scheduledFor }),
      )
      await database.commit(emails.flatMap(({ writes }) => writes))
    }
  }
  await database.close()
  const daemon = await serve(t, at)
  const agent = new Agent({
    connect: { ca: readFileSync(join(at.dataDir, 'tls', 'cert.pem')), servername: 'localhost' },
  })
  t.teardown(() => agent.destroy())
  const { statusCode } = await request(`https://127.0.0.1:${daemon.apiPort}/v1/workspaces/${at.workspace}`, {
    dispatcher: agent,
    method: 'DELETE',
    headers: { authorization: `Bearer ${at.key}` },
  })
  daemon.signal('SIGKILL')
  t.equal(statusCode, 200)
  t.equal(await daemon.ended, 'SIGKILL')

  const left = await openDatabase({ file: databaseFile(at.dataDir) })
  t.teardown(() => left.close())
  const { read } = left
  const before = await tablesWith(read, at.workspace)
  t.ok(before.includes('emails') && before.includes('erasures'), 'it was in the middle')
  t.notOk(before.includes('workspaces') || before.includes('members') || before.includes('dkim_keys'))
  t.same(await runForJson(at, 'verify-data'), { ok: true, problems: [] }, 'which is no damage')
  const again = await serve(t, at)
  await waitUntil('it is erased', async () => (await tablesWith(read, at.workspace)).length === 0, 20_000)
  t.match(await read('select count(*) as count from emails', []), [{ count: 200 }], 'and nothing of the other')
  again.signal('SIGTERM')
  t.equal(await again.ended, 0)
})
