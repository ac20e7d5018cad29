/** The life of an email in the event log, from the daemon's own delivery to reports that come back, read over REST. */
import t, { type Test } from 'tap'
import { z } from 'zod'
import type { EventType } from '../../src/base/storage/tables/email-tables.js'
import { payloadSchemas } from '../../src/servers/api/events/event-schemas.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { complaint, dsn } from '../helpers/receiving/report-text.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink, type SinkMessage } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Event {
  readonly id: string
  readonly type: EventType
  readonly created_at: string
  readonly email_id: string | null
  readonly recipient: string | null
  readonly data: Readonly<Record<string, unknown>>
}

interface Page {
  readonly data: readonly Event[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

const sink = await openSink({
  script: {
    rcpt: ({ line }) =>
      line.includes('<none@')
        ? '550 5.1.1 no such user'
        : line.includes('<later@')
          ? '451 4.7.1 later'
          : '250 2.1.5 ok',
  },
})
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })

async function readPages(path: string, key = app.key): Promise<readonly Event[]> {
  const all: Event[] = []
  let cursor = ''
  for (;;) {
    const answer = await app.rest('GET', `/v1${path}${cursor}`, { key })
    t.equal(answer.status, 200, answer.text.slice(0, 200))
    const { data, has_more, next_cursor } = answer.json<Page>()
    all.push(...data)
    t.equal(has_more, next_cursor !== null)
    if (next_cursor === null) return all
    cursor = `&cursor=${next_cursor}`
  }
}

/** The oldest first. */
const historyOf = async (id: string, query = 'limit=50'): Promise<readonly Event[]> =>
  [...(await readPages(`/emails/${id}/events?${query}`))].reverse()

function messageTo(address: string): SinkMessage {
  const message = sink.messages.find(({ rcptTo }) => rcptTo.some((line) => line.includes(`<${address}>`)))
  return message ?? fail(`no message to ${address}`)
}

function fail(why: string): never {
  throw new Error(why)
}

async function report(t: Test, to: string, raw: string, from: string): Promise<void> {
  t.match(await deliverInbound(t, app, { from, to: [to], raw }), /^250/)
  const unread = `select 1 from inbound_emails where kind = 'report' and status = 'received'`
  await waitUntil('the report was read', async () => (await app.rows(unread)).length === 0)
}

/** Nothing more and nothing less than the documented fields. */
function checkPayloads(t: Test, events: readonly Event[]): void {
  for (const { type, data } of events) {
    const { success, error } = z.strictObject(payloadSchemas[type].shape).safeParse(data)
    t.ok(success, `${type}: ${error?.message ?? 'as documented'}`)
  }
}

async function sendEmail(): Promise<string> {
  const answer = await app.rest('POST', '/v1/emails', {
    body: {
      ...{
        from: 'app@a.test',
        to: ['Bob@b.test', 'none@b.test', 'later@b.test'],
        subject: 'Your order',
        text: 'thanks',
      },
      tags: [{ name: 'campaign', value: 'spring' }],
    },
  })
  return answer.json<{ readonly id: string }>().id
}

const id = await sendEmail()

t.test('attempts: taken, refused, deferred and taken later', async (t) => {
  await app.waitUntilAttempted(id)
  const about = { email_id: id, from: 'app@a.test', subject: 'Your order', tags: { campaign: 'spring' } }
  const events = await historyOf(id)
  checkPayloads(t, events)
  const byRecipient = (name: string): readonly string[] =>
    events.filter(({ recipient }) => recipient === name).map(({ type }) => type)
  t.same(byRecipient('Bob@b.test'), ['email.queued', 'email.sent', 'email.delivered'])
  t.same(byRecipient('none@b.test'), ['email.queued', 'email.bounced'])
  t.same(byRecipient('later@b.test'), ['email.queued', 'email.deferred'])
  t.ok(events.every(({ recipient, data }) => data['to'] === recipient))
  t.match(events.find(({ type }) => type === 'email.bounced')?.data, {
    ...about,
    bounce_type: 'hard',
    bounce_subtype: 'bad-mailbox',
    bounce_reason: '550 5.1.1 no such user',
  })
  const deferred = events.find(({ type }) => type === 'email.deferred')
  t.match(deferred?.data, { ...about, reason: 'policy', response: '451 4.7.1 later', attempts: 1 })
  const next = (await app.findStory(id)).recipients.find(({ email }) => email === 'later@b.test')?.next_attempt_at
  t.equal(deferred?.data['next_attempt_at'], next)
})

t.test('reports that come back', async (t) => {
  const { raw, mailFrom } = messageTo('Bob@b.test')
  await report(t, 'fbl@mail.service.test', complaint(raw.toString()), 'abuse@b.test')
  const path = /bounce\+[^>]*/.exec(mailFrom)?.[0] ?? ''
  await report(t, path, dsn({ path, status: '4.4.1', action: 'delayed', recipient: 'Bob@b.test' }), '')
  await report(t, path, dsn({ path, status: '5.1.1', recipient: 'Bob@b.test' }), '')
  const events = await historyOf(id, 'limit=2&recipient=bob@b.test')
  checkPayloads(t, events)
  t.same(
    events.map(({ type }) => type),
    ['email.queued', 'email.sent', 'email.delivered', 'email.complained', 'email.deferred', 'email.bounced'],
  )
  const [, , , complained, delayed] = events
  t.match(complained?.data, { email_id: id, to: 'Bob@b.test', feedback_type: 'abuse' })
  t.match(delayed?.data, { attempts: 1, next_attempt_at: null })
})

t.test('both lists show the same, whatever the size of a page', async (t) => {
  const own = await readPages(`/emails/${id}/events?limit=100`)
  t.same(await readPages(`/events?email_id=${id}&limit=3`), own)
  t.same(await readPages('/events?limit=1'), own, 'nothing else has happened in this workspace')
  const times = own.map(({ created_at }) => created_at)
  t.same([...times].sort().reverse(), times)
  const middle = times[4] ?? ''
  const from = await readPages(`/events?limit=2&from=${middle}`)
  const to = await readPages(`/events?limit=2&to=${middle}`)
  t.same([...from, ...to], own, 'two ranges with a common end have each event once')
  t.ok(from.every(({ created_at }) => created_at >= middle))
  t.ok(to.every(({ created_at }) => created_at < middle))
})

t.test('a cursor keeps its place while events are added, and across a restart of the daemon', async (t) => {
  const before = await readPages('/events?limit=100')
  const first = (await app.rest('GET', '/v1/events?limit=3')).json<Page>()
  await app.waitUntilAttempted(await sendEmail())
  await app.stop()
  const again = await testDaemon(t, { folder: app.folder, routes: { 'b.test': sink } })
  const rest = (await again.rest('GET', `/v1/events?limit=100&cursor=${first.next_cursor}`)).json<Page>()
  t.same([...first.data, ...rest.data], before)
  await t.test('what a workspace receives and its domains', async (t) => received(t, again))
})

async function received(t: Test, app: TestDaemon): Promise<void> {
  const added = ['home.test', '--inbound', '--force', '--workspace', app.otherWorkspaceId]
  t.equal((await app.cli('domain', 'add', ...added)).status, 0)
  const inboundId = idOfReply(await deliverInbound(t, app, { to: ['info@home.test'], raw: inboundText() }))
  await waitUntilProcessed(app, inboundId, app.otherKey)
  const { data } = (await app.rest('GET', '/v1/events', { key: app.otherKey })).json<Page>()
  checkPayloads(t, data)
  t.match(data, [
    { type: 'email.received', email_id: null, recipient: null, data: { inbound_email_id: inboundId } },
    { type: 'domain.verified', email_id: null, data: { domain: 'home.test', records: [] } },
  ])
  const theirs = await app.rest('GET', `/v1/emails/${id}/events`, { key: app.otherKey })
  t.match([theirs.status, theirs.json()], [404, { error: { code: 'email_not_found' } }])
  t.same((await app.rest('GET', `/v1/events?email_id=${id}`, { key: app.otherKey })).json<Page>().data, [])
  t.same(app.errors, [])
}
