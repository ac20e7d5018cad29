/** What comes back for mail that we sent, from the wire to the record, over the doors of a real daemon. */
import t, { type Test } from 'tap'
import { eventsOfEmail } from '../../src/events/event-log.js'
import { bring, letter } from '../helpers/bring-mail.js'
import { openSink, type ScriptedSink } from '../helpers/scripted-sink.js'
import { type TestDaemon, testDaemon } from '../helpers/test-daemon.js'
import { until } from '../helpers/until.js'

interface Home {
  readonly app: TestDaemon
  /** Where the app that submits reads its mail. */
  readonly inbox: ScriptedSink
  /** Sends to bob@b.test and waits until his server has it. */
  readonly send: (submission?: Parameters<TestDaemon['accepted']>[0]) => Promise<Sent>
  /** Brings a report, and waits until it was looked at. */
  readonly comeBack: (to: string, raw: string, from?: string) => Promise<void>
  readonly events: (id: string) => readonly string[]
}

interface Sent {
  readonly id: string
  /** As his server saw them. */
  readonly returnPath: string
  readonly raw: string
}

async function home(t: Test): Promise<Home> {
  const [sink, inbox] = await Promise.all([openSink(), openSink()])
  t.teardown(() => Promise.all([sink.close(), inbox.close()]))
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': inbox } })
  const filed = (): number => app.rows(`select 1 from inbound_emails where kind = 'report'`).length
  return {
    app,
    inbox,
    send: async (submission) => {
      const id = await app.accepted({ to: ['bob@b.test'], ...submission })
      await app.settled(id)
      const message = sink.messages.at(-1)
      const [, returnPath = ''] = /^<(.+)>/.exec(message?.mailFrom ?? '') ?? []
      return { id, returnPath, raw: message?.raw.toString('latin1') ?? '' }
    },
    comeBack: async (to, raw, from = '') => {
      const reply = await bring(t, app, { from, to: [to], raw })
      if (!reply.startsWith('250')) throw new Error(`refused: ${reply}`)
      await until('the report was looked at', () => filed() === 0)
    },
    events: (emailId) =>
      eventsOfEmail(app.daemon.database.read, { workspaceId: app.workspaceId, emailId, limit: 100 })
        .map(({ type }) => type.slice('email.'.length))
        .filter((type) => type !== 'queued' && type !== 'sent'),
  }
}

/** A report of a server further on, its status as machines read it. */
function report(status: readonly string[], type = 'delivery-status'): string {
  const parts = [`--xx`, `Content-Type: message/${type}`, '', ...status, '--xx--']
  const mime = `Content-Type: multipart/report; report-type=${type}; boundary=xx`
  return [
    'From: Mail Delivery System <MAILER-DAEMON@mx.b.test>',
    'Subject: Undelivered Mail Returned to Sender',
    'Date: Sat, 21 Nov 2026 12:00:00 +0000',
    'Message-ID: <1@mx.b.test>',
    mime,
    '',
    ...parts,
    '',
  ].join('\r\n')
}

const unknownUser = report([
  'Reporting-MTA: dns; mx.b.test',
  '',
  'Final-Recipient: rfc822; bob@b.test',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 no such user',
  '',
])

function complaint(original: string): string {
  const fields = ['Feedback-Type: abuse', 'User-Agent: provider/1', 'Version: 1', '']
  const returned = ['--xx', 'Content-Type: message/rfc822', '', original]
  return report([...fields, ...returned], 'feedback-report')
}

t.test('a later bounce is believed at the return path, once, and the app is told', async (t) => {
  const { app, inbox, send, comeBack, events } = await home(t)
  const { id, returnPath } = await send({ mailParameters: ' ENVID=QQ31 RET=HDRS' })
  const forged = returnPath.replace(/(.)@/, (_, last: string) => `${last === 'a' ? 'b' : 'a'}@`)
  await comeBack(forged, unknownUser)
  t.equal(app.story(id).status, 'delivered', 'a forged one is not')
  t.same(app.rows('select 1 from suppressions'), [])

  await comeBack(returnPath, unknownUser)
  await comeBack(returnPath, unknownUser)
  t.match(app.story(id), {
    status: 'bounced',
    recipients: [{ status: 'bounced', last_response: '550 5.1.1 no such user', reason: 'bad-mailbox' }],
  })
  t.same(events(id), ['delivered', 'bounced'])
  const list = await app.rest('GET', '/v1/suppressions?reason=hard_bounce')
  t.match(list.json(), { data: [{ email: 'bob@b.test', source_email_id: id, metadata: { bounce_type: 'hard' } }] })
  t.match(await app.submit({ to: ['bob@b.test'] }), /^554 5\.7\.1 /, 'and nothing is sent there any more')

  await inbox.until(() => inbox.messages.length === 1)
  const [notice] = inbox.messages
  t.match(notice, { mailFrom: /^<>/, rcptTo: [/^<app@a\.test>/] })
  t.match(notice?.raw.toString(), /\r\nOriginal-Envelope-Id: QQ31\r\n[\s\S]*\r\nStatus: 5\.1\.1\r\n/)
  t.match((await app.cli('explain', id)).out, /reported later, now bounced \(bad-mailbox\): 550 5\.1\.1 no such user/)
  t.same((await app.rest('GET', '/v1/inbound')).json<{ data: unknown[] }>().data, [], 'no report is an inbound email')
  t.same(app.errors, [])
})

t.test('a complaint finds its email by what it brings along', async (t) => {
  const { app, send, comeBack, events } = await home(t)
  const { id, raw } = await send()
  await comeBack(
    'fbl@mail.service.test',
    complaint(raw.replace(/^X-Posthorn-Reference: ./, '$&x')),
    'fbl@provider.test',
  )
  t.equal(app.story(id).status, 'delivered', 'by a forged reference it does not')
  await comeBack('fbl@mail.service.test', complaint(raw), 'fbl@provider.test')
  await comeBack('fbl@mail.service.test', complaint(raw), 'fbl@provider.test')
  t.equal(app.story(id).status, 'complained')
  t.same(events(id), ['delivered', 'complained'])
  const list = await app.rest('GET', '/v1/suppressions?reason=spam_complaint')
  t.match(list.json(), { data: [{ email: 'bob@b.test', metadata: { feedback_type: 'abuse' } }] })
  t.same(app.errors, [])
})

t.test('an automatic answer at a return path is no bounce', async (t) => {
  const { app, send, comeBack, events } = await home(t)
  const { id, returnPath } = await send()
  await comeBack(returnPath, letter({ from: 'bob@plain.test', fields: ['Auto-Submitted: auto-replied (vacation)'] }))
  t.equal(app.story(id).status, 'delivered')
  t.same(events(id), ['delivered'])
  t.same(app.rows('select 1 from suppressions'), [])
})
