/** Effects of reports on a real database: bounces, complaints, unsubscriptions, and reports without effect. */

import { createSecretKey, type KeyObject } from 'node:crypto'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { type DomainName, parseAddress } from '../../../../src/base/mail/address.js'
import {
  createReferenceField,
  createReturnPath,
  createUnsubscribeAddress,
} from '../../../../src/base/mail/recipient-token.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { contentAnalyzer } from '../../../../src/inbound/receiving/analysis/inbound-analyzer.js'
import { InboundProcessor } from '../../../../src/inbound/receiving/inbound-processor.js'
import { RecipientPolicy } from '../../../../src/inbound/receiving/recipients/recipient-policy.js'
import { messageDigester } from '../../../../src/inbound/receiving/reports/report-digest.js'
import { type ReportDeps, ReportProcessor } from '../../../../src/inbound/receiving/reports/report-processor.js'
import { detailsOfAnyWorkspace, readEmailDetails } from '../../../../src/records/messages/email-details.js'
import { storeInbound } from '../../../../src/records/messages/inbound/inbound-email.js'
import { defaultMimeLimits, MimeReader } from '../../../../src/records/messages/mime/mime-parts.js'
import { type EnqueuedEmail, enqueue, type NewEmail } from '../../../../src/records/messages/queue/enqueue.js'
import { storyLines } from '../../../../src/records/messages/story/story-lines.js'
import { defaultInboundPolicy } from '../../../../src/workspaces/domains/rows/inbound-policy.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { testNode } from '../../../helpers/database/test-engine.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'
import { waitUntil } from '../../../helpers/wait-until.js'
import { noReports } from '../processor-doubles.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const host = 'posthorn.a.test' as DomainName
const FBL = 'fbl@mx.service.test'
const policy = new RecipientPolicy({
  hostname: 'mx.service.test' as DomainName,
  zone: 'zone.test' as DomainName,
  secret,
  clock: () => Date.UTC(2026, 6, 1),
  domains: {
    find: async (domain) =>
      domain === 'a.test' || domain === 'other.test'
        ? { workspaceId: 'ws_1', inbound: false, blocked: new Set(), policy: defaultInboundPolicy }
        : undefined,
  },
})

interface Sent {
  readonly id: string
  /** The recipients of the email, in their order. */
  readonly ids: readonly string[]
  readonly path: (place?: number, key?: KeyObject) => string
}

interface Home {
  readonly database: Database
  readonly acts: ReportProcessor
  readonly offered: EnqueuedEmail[]
  readonly log: string[]
  readonly send: (more?: Partial<Sending>) => Promise<Sent>
  /** Stores a report that was sent to these addresses, and applies it. */
  readonly arrive: (raw: string, ...to: readonly string[]) => Promise<void>
  readonly arriveFrom: (from: string, raw: string, ...to: readonly string[]) => Promise<void>
  readonly statuses: (of: Sent) => Promise<readonly string[]>
  readonly events: () => Promise<readonly { readonly type: string; readonly data: Record<string, unknown> }[]>
  readonly suppressed: () => Promise<readonly Record<string, unknown>[]>
}

interface Sending {
  readonly to: readonly string[]
  readonly status: string
  readonly notify: string | null
  readonly orcpt: string | null
  readonly email: Partial<NewEmail>
}

async function home(t: Test, deps: Partial<ReportDeps> = {}): Promise<Home> {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const offered: EnqueuedEmail[] = []
  const log: string[] = []
  let now = 10_000
  const acts = new ReportProcessor({
    read,
    clock: () => ++now,
    log: pino({ level: 'info' }, { write: (line) => log.push(line) }),
    policy,
    settings: () => ({ forward_bounces: true }),
    service: { hostname: 'mx.service.test', mailFrom: parseAddress('posthorn@mx.service.test') },
    queue: { offer: (enqueued) => offered.push(enqueued) },
    ...deps,
  })
  let arrived = 0
  const arriveFrom: Home['arriveFrom'] = async (from, raw, ...to) => {
    const id = `report-${++arrived}`
    const record = inboundMail({ id, kind: 'report', envelope_from: from, envelope_to: to })
    await commit(storeInbound(record, Buffer.from(raw)))
    const others = acts.ignoredCounts.get('other-recipient') ?? 0
    const [email] = await read<never>('select * from inbound_emails where id = ?', [id])
    const judged = await acts.process(
      email as never,
      await messageDigester.digest(Buffer.from(raw), { envelopeFrom: from }),
    )
    await commit(judged.writes)
    judged.onCommitted?.()
    const left = await read(
      'select e.status from inbound_emails e join inbound_raw r on r.inbound_id = e.id where id = ?',
      [id],
    )
    const isKept = (acts.ignoredCounts.get('other-recipient') ?? 0) > others && raw.length <= 262_144
    t.same(left, isKept ? [{ status: 'processed' }] : [], isKept ? 'the report is kept' : 'the report is gone')
  }
  return {
    database,
    acts,
    offered,
    log,
    send: (more) => storeSent(database, more),
    arrive: (raw, ...to) => arriveFrom('', raw, ...to),
    arriveFrom,
    statuses: async ({ id }) =>
      (
        await read<{ status: string }>(
          `select status from (select '' as id, status from emails where id = ?
            union all select id, status from recipients where email_id = ?) as statuses order by id`,
          [id, id],
        )
      ).map(({ status }) => status),
    events: async () =>
      (await read<{ type: string; data: string }>('select type, data from events order by seq', [])).map(
        ({ type, data }) => ({
          type,
          data: JSON.parse(data) as Record<string, unknown>,
        }),
      ),
    suppressed: async () =>
      (
        await read<{ metadata: string }>(
          'select workspace_id, email, reason, source_email_id, metadata from suppressions order by id',
          [],
        )
      ).map(({ metadata, ...row }) => ({ ...row, metadata: JSON.parse(metadata) as unknown })),
  }
}

/** An email that was sent a while ago, without an event of that time. */
async function storeSent({ commit }: Database, more: Partial<Sending> = {}): Promise<Sent> {
  const { to = ['bob@b.test'], status = 'delivered', notify = null, orcpt = null } = more
  const { email } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 })
  const recipients = to.map((address) => ({ address: parseAddress(address), suppressed: false, notify, orcpt }))
  const raw = Buffer.from('From: app@a.test\r\nSubject: bulk\r\nMessage-ID: <bulk@a.test>\r\n\r\na line\r\n')
  const made = enqueue({ ...email, envelope_from: parseAddress('app@a.test'), ...more.email }, recipients, raw)
  const { id } = made.email
  const mark = `status = ?, settled_at = 2000, attempts = 1, mx = 'mx.b.test', last_response = '250 taken'`
  await commit([
    ...made.writes,
    { sql: `update recipients set ${mark} where email_id = ?`, parameters: [status, id] },
    { sql: 'update emails set status = ? where id = ?', parameters: [status, id] },
    { sql: 'delete from queue', parameters: [] },
    { sql: 'delete from events', parameters: [] },
    {
      sql: `insert into attempts (workspace_id, email_id, recipient_id, number, at, duration, mx, reached, outcome, response)
        select workspace_id, email_id, id, 1, 1900, 100, mx, 1, case status when 'sent' then 'sent' else 'delivered' end, '250 taken' from recipients where email_id = ?`,
      parameters: [id],
    },
  ])
  const ids = made.entries.map((entry) => entry.id)
  return { id, ids, path: (place = 0, key = secret) => createReturnPath(key, ids[place] ?? '', host) }
}

/** A report with groups of fields, one for each recipient. */
function dsn(...groups: readonly (readonly string[])[]): string {
  return [
    'From: MAILER-DAEMON@b.test',
    'Subject: Undelivered',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=xx',
    '',
    '--xx',
    'Content-Type: text/plain',
    '',
    'It was not to be.',
    '--xx',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.b.test',
    ...groups.flatMap((group) => ['', ...group]),
    '--xx--',
    '',
  ].join('\r\n')
}

const about = (to: string, action: string, status: string, diagnostic: string): string[] => [
  `Final-Recipient: rfc822; ${to}`,
  `Action: ${action}`,
  `Status: ${status}`,
  `Diagnostic-Code: smtp; ${diagnostic}`,
]
const unknownUser = (to = 'bob@b.test'): string[] => about(to, 'failed', '5.1.1', '550 5.1.1 user unknown')

/** A part of the output of `posthorn explain`. */
async function lastLine({ read }: Database, { id }: Sent): Promise<string | undefined> {
  const story = await detailsOfAnyWorkspace(read, id)
  return story === null ? undefined : storyLines(story).findLast((line) => line.includes('eported later'))
}

function arf(feedbackType: string, reported: readonly string[], fields: readonly string[] = []): string {
  return [
    'From: fbl@provider.test',
    'Subject: FW: bulk',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=xx',
    '',
    '--xx',
    'Content-Type: text/plain',
    '',
    'A complaint.',
    '--xx',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${feedbackType}`,
    'User-Agent: x/1',
    'Version: 1',
    ...fields,
    '',
    '--xx',
    'Content-Type: message/rfc822',
    '',
    ...reported,
    'From: app@a.test',
    'Subject: bulk',
    '',
    'a line',
    '--xx--',
    '',
  ].join('\r\n')
}

t.test('a hard bounce of a dead mailbox bounces the recipient and suppresses the address', async (t) => {
  const { database, send, arrive, statuses, events, suppressed, offered, log } = await home(t)
  const email = await send()
  await arrive(dsn(unknownUser()), email.path())
  t.same(await statuses(email), ['bounced', 'bounced'])
  t.match(await events(), [
    {
      type: 'email.bounced',
      data: {
        email_id: email.id,
        from: 'app@a.test',
        to: 'bob@b.test',
        bounce_type: 'hard',
        bounce_subtype: 'bad-mailbox',
        bounce_reason: '550 5.1.1 user unknown',
      },
    },
  ])
  const metadata = { bounce_type: 'hard', bounce_subtype: 'bad-mailbox', diagnostic_code: '550 5.1.1 user unknown' }
  t.same(await suppressed(), [
    { workspace_id: 'ws_1', email: 'bob@b.test', reason: 'hard_bounce', source_email_id: email.id, metadata },
  ])
  t.equal(offered.length, 1, 'and the app is notified')
  const story = await readEmailDetails(database.read, { workspaceId: 'ws_1', id: email.id })
  t.match(story, {
    status: 'bounced',
    recipients: [{ status: 'bounced', last_response: '550 5.1.1 user unknown', reason: 'bad-mailbox' }],
  })
  t.equal(
    await lastLine(database, email),
    '                              Reported later, now bounced (bad-mailbox): 550 5.1.1 user unknown',
  )
  t.match(log.join(''), /a report acted/)
})

t.test('the same bounce again, with any fields on top of it, changes nothing and is counted', async (t) => {
  const { send, arrive, events, offered, acts, suppressed } = await home(t)
  const email = await send()
  await arrive(dsn(unknownUser()), email.path())
  await arrive(`Received: from relay.test\r\n${dsn(unknownUser())}`, email.path())
  t.same([(await events()).length, (await suppressed()).length, offered.length], [1, 1, 1])
  t.same([...acts.ignoredCounts], [['state', 1]])
})

t.test('two addresses of one report for the same recipient act once', async (t) => {
  const { send, arrive, events } = await home(t)
  const email = await send()
  await arrive(dsn(unknownUser()), email.path(), email.path().replace(/@.*/, '@mail.zone.test'))
  t.equal((await events()).length, 1)
})

t.test('one report may name two recipients of an email', async (t) => {
  const { send, arrive, statuses, events } = await home(t)
  const email = await send({ to: ['bob@b.test', 'carol@b.test'] })
  await arrive(dsn(unknownUser(), unknownUser('carol@b.test')), email.path(0), email.path(1))
  t.same(await statuses(email), ['bounced', 'bounced', 'bounced'])
  t.equal((await events()).length, 2)
})

t.test('a refusal that is not the fault of the mailbox suppresses no address', async (t) => {
  const { send, arrive, statuses, suppressed } = await home(t)
  const email = await send()
  await arrive(dsn(about('bob@b.test', 'failed', '5.7.1', '550 5.7.1 blocked by policy')), email.path())
  t.same(await statuses(email), ['bounced', 'bounced'])
  t.same(await suppressed(), [])
})

t.test('temporary refusals until expiry are a soft bounce: one event and no suppression', async (t) => {
  const { database, send, arrive, statuses, events, suppressed, acts, offered } = await home(t)
  const email = await send()
  const full = dsn(about('bob@b.test', 'failed', '4.2.2', '452 4.2.2 mailbox full'))
  await arrive(full, email.path())
  await arrive(full, email.path())
  t.same(await statuses(email), ['delivered', 'delivered'])
  t.match(await events(), [{ type: 'email.bounced', data: { bounce_type: 'soft', bounce_subtype: 'mailbox-full' } }])
  t.same([(await events()).length, await suppressed(), [...acts.ignoredCounts]], [1, [], [['repeated', 1]]])
  const story = await readEmailDetails(database.read, { workspaceId: 'ws_1', id: email.id })
  t.match(story?.recipients, [{ last_response: '452 4.2.2 mailbox full', reason: 'mailbox-full' }])
  t.equal(
    await lastLine(database, email),
    '                              Reported later (mailbox-full): 452 4.2.2 mailbox full',
  )
  t.match(
    (await database.read<{ raw: Buffer }>('select raw from raw_messages where email_id = ?', [offered[0]?.email.id]))[0]
      ?.raw,
    /Action: failed\r\nStatus: 4\.2\.2\r\n/,
  )
})

t.test('a delay is an event, and the app is notified unless it asked for silence', async (t) => {
  const { send, arrive, statuses, events, offered } = await home(t)
  const late = dsn(about('bob@b.test', 'delayed', '4.4.1', '451 4.4.1 later'))
  const one = await send()
  await arrive(late, one.path())
  t.same(await statuses(one), ['delivered', 'delivered'])
  t.match(await events(), [{ type: 'email.deferred', data: { to: 'bob@b.test', response: '451 4.4.1 later' } }])
  t.equal(offered.length, 1)
  const two = await send({ notify: 'FAILURE' })
  await arrive(late, two.path())
  t.equal(offered.length, 1)
})

t.test('a success turns sent into delivered, and is reported to an app that asked for it', async (t) => {
  const { database, send, arrive, statuses, events, offered } = await home(t)
  const success = dsn(about('bob@b.test', 'delivered', '2.0.0', '250 2.0.0 ok'))
  const email = await send({ status: 'sent' })
  await arrive(success, email.path())
  t.same(await statuses(email), ['delivered', 'delivered'])
  t.match(await events(), [{ type: 'email.delivered' }])
  t.equal(offered.length, 0)
  t.equal(await lastLine(database, email), '                              Reported later, now delivered')
  const asked = await send({ status: 'sent', notify: 'SUCCESS,FAILURE' })
  await arrive(success, asked.path())
  t.match(offered, [{ email: { subject: 'Your message was delivered' } }])
})

t.test(
  'an app that asked for success is notified once, even if the recipient counted as delivered before',
  async (t) => {
    const { database, send, arrive, events, offered, acts } = await home(t)
    const success = dsn(about('bob@b.test', 'delivered', '2.0.0', '250 2.0.0 ok'))
    for (const [status, notify, left, eventCount] of [
      ['delivered', 'SUCCESS', 'NEVER', 0],
      ['delivered', 'SUCCESS,FAILURE', 'FAILURE', 0],
      ['sent', 'SUCCESS', 'NEVER', 1],
    ] as const) {
      const email = await send({ status, notify })
      offered.length = 0
      await arrive(success, email.path())
      await arrive(success, email.path())
      t.match(offered, [{ email: { subject: 'Your message was delivered' } }])
      t.equal(offered.length, 1)
      t.same(await database.read('select notify from recipients where id = ?', [email.ids[0]]), [{ notify: left }])
      t.equal((await events()).length, eventCount, status)
    }
    t.same([...acts.ignoredCounts], [['state', 3]])
  },
)

t.test('a forged token changes nothing, whatever the report says', async (t) => {
  const { send, arrive, statuses, events, acts, log, suppressed } = await home(t)
  const email = await send()
  const forged = [
    email.path(0, createSecretKey(Buffer.alloc(32, 8))),
    email.path().replace(/[a-z2-7]@/, '1@'),
    'bounce+x@posthorn.a.test',
    createUnsubscribeAddress(secret, email.ids[0] ?? '', host).replace('unsubscribe', 'bounce'),
  ]
  for (const path of forged) {
    await arrive(dsn(unknownUser()), path)
    await arrive(arf('abuse', []), path)
  }
  t.same([await statuses(email), await events(), await suppressed()], [['delivered', 'delivered'], [], []])
  t.same([...acts.ignoredCounts], [['no-token', 8]])
  t.match(JSON.parse(log.at(-1) ?? '{}'), { msg: 'a report changed nothing', why: 'no-token', times: 8 })
})

t.test('addresses of removed emails, and removed recipients, have no effect', async (t) => {
  const { send, arrive, database, acts, events } = await home(t)
  const email = await send()
  await arrive(dsn(unknownUser()), email.path().replace('a.test', 'deleted.test'), 'dmarc@zone.test')
  await database.commit([{ sql: 'delete from recipients', parameters: [] }])
  await arrive(dsn(unknownUser()), email.path())
  t.same(
    [await events(), [...acts.ignoredCounts]],
    [
      [],
      [
        ['not-ours', 1],
        ['gone', 1],
      ],
    ],
  )
})

t.test('of reports about others only so many are kept, so that no holder of a token fills their room', async (t) => {
  const { send, acts, database } = await home(t)
  const { path } = await send({ to: ['bob@b.test', 'carol@b.test'] })
  const raw = Buffer.from(dsn(unknownUser('carol@b.test'), unknownUser('dave@b.test')))
  const digested = await messageDigester.digest(raw, { envelopeFrom: '' })
  for (let times = 0; times < 205; times += 1) {
    const record = inboundMail({ id: `many-${times}`, kind: 'report', envelope_to: [path(0)] })
    await database.commit(storeInbound(record, raw))
    const [email] = await database.read<never>('select * from inbound_emails where id = ?', [record.id])
    await database.commit((await acts.process(email as never, digested)).writes)
  }
  t.same(await database.read('select count(*) as kept from inbound_raw', []), [{ kept: 200 }])
})

t.test('a report acts for the recipient of its token only, whatever recipient it names', async (t) => {
  const { send, arrive, statuses, acts, suppressed } = await home(t)
  const email = await send({ to: ['bob@b.test', 'carol@b.test'] })
  await arrive(dsn(unknownUser('carol@b.test'), unknownUser('dave@b.test')), email.path(0))
  t.same(await statuses(email), ['delivered', 'delivered', 'delivered'])
  t.same([[...acts.ignoredCounts], await suppressed()], [[['other-recipient', 1]], []])
  await arrive(dsn(unknownUser('CAROL@B.test'), unknownUser('Bob@B.test')), email.path(0))
  t.same(await statuses(email), ['delivered', 'bounced', 'delivered'], 'the block of its own, in whichever case')
})

const original = (to: string, lines: readonly string[]): string[] => [`Original-Recipient: rfc822; ${to}`, ...lines]
const prose = (...lines: readonly string[]): string =>
  ['From: MAILER-DAEMON@b.test', 'Subject: failure notice', '', ...lines, ''].join('\r\n')

/** A report at the token of bob+shop@b.test, whose email went to carol@b.test too; and what becomes of bob. */
const ties: readonly (readonly [what: string, raw: string, acts: boolean, suppresses: boolean])[] = [
  ['its own address', dsn(unknownUser('bob+shop@b.test')), true, true],
  ['its own address in another case', dsn(unknownUser('Bob+Shop@B.test')), true, true],
  ['its mailbox without the detail', dsn(unknownUser('bob@b.test')), true, true],
  ['another detail of its mailbox', dsn(unknownUser('bob+news@b.test')), true, false],
  ['a forward that names it', dsn(original('bob+shop@b.test', unknownUser('bob@c.test'))), true, false],
  ['a forward that does not name it', dsn(unknownUser('bob@c.test')), false, false],
  ['the name the app gave it', dsn(original('list@a.test', unknownUser('x@c.test'))), true, false],
  ['an alias of its domain', dsn(unknownUser('robert@b.test')), true, false],
  ['a host of its domain', dsn(unknownUser('bob@mail.b.test')), true, false],
  ['a domain that ends alike', dsn(unknownUser('bob@evilb.test')), false, false],
  ['another recipient of the same email', dsn(unknownUser('carol@b.test')), false, false],
  ['another, with another original recipient', dsn(original('dan@b.test', unknownUser('x@b.test'))), false, false],
  ['two of its domain', dsn(unknownUser('dan@b.test'), unknownUser('eve@b.test')), false, false],
  [
    'its own address, in words about another',
    dsn(about('bob+shop@b.test', 'failed', '5.1.1', '550 5.1.1 <dan@c.test> user unknown')),
    true,
    false,
  ],
  ['a report that names no recipient', prose('Some host said: 550 5.1.1 user unknown'), true, false],
  ['another, in words', prose('<dan@c.test>: user unknown'), false, false],
  [
    'it and another, in words',
    prose(
      'Could not be delivered to:',
      '',
      '<bob+shop@b.test>:',
      '550 policy',
      '',
      '<dan@b.test>:',
      '550 user unknown',
    ),
    true,
    false,
  ],
]
t.test('which facts tie a report to the recipient of its token, and which do not', async (t) => {
  const { database, send, arrive, statuses, events, suppressed, offered } = await home(t)
  for (const [what, raw, acts, suppresses] of ties) {
    const email = await send({ to: ['bob+shop@b.test', 'carol@b.test'], orcpt: 'rfc822;list@a.test' })
    await database.commit([{ sql: 'delete from suppressions', parameters: [] }])
    offered.length = 0
    await arrive(raw, email.path(0))
    t.same((await statuses(email)).slice(1), [acts ? 'bounced' : 'delivered', 'delivered'], what)
    t.same([(await events()).length, offered.length], acts ? [1, 1] : [0, 0], what)
    const listed = (await suppressed()).map(({ email: address, reason }) => [address, reason])
    t.same(listed, suppresses ? [['bob+shop@b.test', 'hard_bounce']] : [], what)
  }
})

t.test('a report about other recipients is stored and logged with their names, unless it is large', async (t) => {
  const { send, arrive, log, database } = await home(t)
  const email = await send()
  await arrive(dsn(unknownUser('dan@c.test')), email.path())
  const line = JSON.parse(log.at(-1) ?? '{}') as Record<string, unknown>
  t.match(line, { why: 'other-recipient', recipient: 'bob@b.test', named: ['dan@c.test'], email: email.id })
  for (const size of [262_144, 262_145]) await arrive(dsn(unknownUser('dan@c.test')).padEnd(size, 'x'), email.path())
  const kept = await database.read('select kind, status, size from inbound_emails order by received_at, id', [])
  t.match(kept, [{ kind: 'report', status: 'processed' }, { size: 262_144 }])
  t.equal(kept.length, 2)
})

t.test('the mildest outcome among the members of an alias counts', async (t) => {
  const { send, arrive, statuses, events } = await home(t)
  const email = await send()
  const member = (lines: readonly string[]): string[] => ['Original-Recipient: rfc822; bob@b.test', ...lines]
  const full = about('two@c.test', 'failed', '4.2.2', '452 4.2.2 full')
  await arrive(dsn(member(unknownUser('one@c.test')), member(full)), email.path())
  t.same(await statuses(email), ['delivered', 'delivered'])
  t.match(await events(), [{ data: { bounce_type: 'soft' } }])
})

t.test('the address that the app had given for the recipient matches too', async (t) => {
  const { send, arrive, statuses } = await home(t)
  const email = await send({ orcpt: 'rfc822;list@a.test' })
  const named = ['Original-Recipient: rfc822; list@a.test', ...unknownUser('x@c.test')]
  await arrive(dsn(unknownUser('y@c.test'), named), email.path())
  t.same(await statuses(email), ['bounced', 'bounced'])
})

t.test('vacation notes and letters at a return path change nothing', async (t) => {
  const { send, arrive, arriveFrom, statuses, events, acts } = await home(t)
  const email = await send()
  await arrive('Auto-Submitted: auto-replied\r\nSubject: Out of office\r\n\r\nI am away.\r\n', email.path())
  await arriveFrom('bob@b.test', 'Subject: Re: bulk\r\n\r\nThank you.\r\n', email.path())
  t.same([await statuses(email), await events()], [['delivered', 'delivered'], []])
  t.same(
    [...acts.ignoredCounts],
    [
      ['automatic', 1],
      ['unreadable', 1],
    ],
  )
})

const complaints: readonly (readonly [what: string, (email: Sent) => readonly [raw: string, to: string]])[] = [
  [
    'by the reference field',
    ({ ids }) => [
      arf('abuse', [createReferenceField(secret, ids[0] ?? '').trim(), 'Return-Path: <x@redacted.test>']),
      FBL,
    ],
  ],
  ['by the return path', (email) => [arf('abuse', [`Return-Path: <${email.path()}>`]), FBL]],
  ['by the field for it', (email) => [arf('fraud', [], [`Original-Mail-From: <${email.path()}>`]), FBL]],
  [
    'by the return path beside another sender',
    (email) => [arf('abuse', [`Return-Path: <${email.path()}>`], ['Original-Mail-From: <x@redacted.test>']), FBL],
  ],
  ['at the return path', (email) => [arf('abuse', []), email.path()]],
]
for (const [what, report] of complaints) {
  t.test(`a complaint that is reported ${what} complains, once, and suppresses`, async (t) => {
    const { send, arriveFrom, statuses, events, suppressed, offered, acts } = await home(t)
    const email = await send()
    const [raw, to] = report(email)
    await arriveFrom('fbl@provider.test', raw, to)
    await arriveFrom('fbl@provider.test', raw, to)
    t.same(await statuses(email), ['complained', 'delivered'])
    const feedback_type = raw.includes('fraud') ? 'fraud' : 'abuse'
    t.match(await events(), [
      {
        type: 'email.complained',
        data: { email_id: email.id, from: 'app@a.test', to: 'bob@b.test', subject: 'bulk', tags: {}, feedback_type },
      },
    ])
    t.match((await events())[0]?.data['complained_at'], /^1970-01-01T00:00:1/)
    t.match(await suppressed(), [{ email: 'bob@b.test', reason: 'spam_complaint', metadata: { feedback_type } }])
    t.same([(await suppressed()).length, offered.length, [...acts.ignoredCounts]], [1, 0, [['repeated', 1]]])
  })
}

t.test('reports of failed authentication and of mail that is not spam suppress no address', async (t) => {
  const { send, arriveFrom, statuses, events, suppressed, acts } = await home(t)
  const email = await send()
  for (const type of ['auth-failure', 'not-spam', 'virus', 'other']) {
    await arriveFrom('fbl@provider.test', arf(type, [`Return-Path: <${email.path()}>`]), FBL, email.path())
  }
  t.same([await statuses(email), await events(), await suppressed()], [['delivered', 'delivered'], [], []])
  t.same([...acts.ignoredCounts], [['feedback-type', 4]])
})

t.test('a complaint with a forged token, or none, changes nothing', async (t) => {
  const { send, arriveFrom, events, suppressed, acts } = await home(t)
  const email = await send()
  const [id = ''] = email.ids
  const other = createSecretKey(Buffer.alloc(32, 8))
  const asPath = `X-Posthorn-Reference: ${email.path().slice('bounce+'.length).replace(/@.*/, '')}`
  for (const line of [
    createReferenceField(other, id).trim(),
    `Return-Path: <${email.path(0, other)}>`,
    asPath,
    'X-A: b',
  ]) {
    await arriveFrom('fbl@provider.test', arf('abuse', [line]), FBL)
  }
  await arriveFrom('bob@b.test', 'Subject: hello\r\n\r\nI complain.\r\n', FBL)
  t.same([await events(), await suppressed()], [[], []])
  t.same(
    [...acts.ignoredCounts],
    [
      ['no-token', 4],
      ['unreadable', 1],
    ],
  )
})

t.test('a message to the unsubscribe address unsubscribes its sender, also inside a report', async (t) => {
  const { send, arriveFrom, statuses, events, suppressed } = await home(t)
  const email = await send({ to: ['Bob@b.test', 'carol@b.test'] })
  await arriveFrom(
    'bob@b.test',
    'Subject: unsubscribe\r\n\r\n\r\n',
    createUnsubscribeAddress(secret, email.ids[0] ?? '', host),
  )
  await arriveFrom('x@provider.test', arf('opt-out', [`Return-Path: <${email.path(1)}>`]), FBL)
  t.same(await statuses(email), ['delivered', 'delivered', 'delivered'])
  t.match(
    (await events()).map(({ type, data }) => [type, data['to']]),
    [
      ['email.unsubscribed', 'Bob@b.test'],
      ['email.unsubscribed', 'carol@b.test'],
    ],
  )
  t.match(await suppressed(), [
    { email: 'bob@b.test', reason: 'unsubscribe', source_email_id: email.id, metadata: {} },
    { email: 'carol@b.test', reason: 'unsubscribe' },
  ])
})

t.test('a second unsubscription after removal suppresses again, without a second event', async (t) => {
  const { database, send, arriveFrom, events, suppressed } = await home(t)
  const email = await send()
  const address = createUnsubscribeAddress(secret, email.ids[0] ?? '', host)
  await arriveFrom('bob@b.test', 'Subject: stop\r\n\r\n', address)
  await database.commit([{ sql: 'delete from suppressions', parameters: [] }])
  await arriveFrom('bob@b.test', 'Subject: stop\r\n\r\n', address)
  t.same([(await events()).length, (await suppressed()).length], [1, 1])
})

t.test('automatic answers unsubscribe no recipient, one-click messages of mail clients do', async (t) => {
  const { send, arrive, arriveFrom, events, suppressed, acts } = await home(t)
  const email = await send()
  const [id = ''] = email.ids
  const address = createUnsubscribeAddress(secret, id, host)
  await arrive('Subject: unsubscribe\r\n\r\n', address)
  await arriveFrom('mailer-daemon@b.test', dsn(unknownUser()), address)
  await arriveFrom('bob@b.test', 'Auto-Submitted: auto-replied (x)\r\nSubject: Re: unsubscribe\r\n\r\n', address)
  await arriveFrom('bob@b.test', 'Subject: Out of office\r\n\r\nAway.\r\n', address)
  await arriveFrom('bob@b.test', 'Subject: x\r\n\r\n', email.path().replace('bounce', 'unsubscribe'))
  t.same(
    [await events(), await suppressed(), [...acts.ignoredCounts]],
    [
      [],
      [],
      [
        ['automatic', 4],
        ['no-token', 1],
      ],
    ],
  )
  await arriveFrom('bob@b.test', 'Auto-Submitted: auto-generated\r\nSubject: unsubscribe\r\n\r\n', address)
  t.equal((await suppressed()).length, 1)
})

t.test('only the workspace of the recipient is affected', async (t) => {
  const { send, arrive, events, suppressed, database } = await home(t)
  const email = await send({ email: { workspace_id: 'ws_2' } })
  await arrive(dsn(unknownUser()), email.path())
  t.match(await suppressed(), [{ workspace_id: 'ws_2', email: 'bob@b.test' }])
  t.equal((await events()).length, 1)
  t.same(await database.read('select distinct workspace_id from events', []), [{ workspace_id: 'ws_2' }])
})

t.test("bounces of the service's own mail end here", async (t) => {
  const { send, arrive, statuses, offered, acts } = await home(t)
  const email = await send({ email: { workspace_id: 'service', source: 'service', envelope_from: '' } })
  await arrive(dsn(unknownUser()), email.path())
  t.same([await statuses(email), offered], [['delivered', 'delivered'], []])
  t.same([...acts.ignoredCounts], [['gone', 1]])
})

t.test('which senders are notified of a later bounce', async (t) => {
  const senders: readonly (readonly [what: string, Partial<Sending>, number])[] = [
    ['an app over SMTP', {}, 1],
    ['one that requests failures', { notify: 'FAILURE' }, 1],
    ['one that requests silence', { notify: 'NEVER' }, 0],
    ['one that requests successes', { notify: 'SUCCESS' }, 0],
    ['the null sender', { email: { envelope_from: '' } }, 0],
    ['a client of REST', { email: { source: 'rest' } }, 0],
  ]
  const { send, arrive, offered } = await home(t)
  for (const [what, sending, count] of senders) {
    const email = await send(sending)
    offered.length = 0
    await arrive(dsn(unknownUser()), email.path())
    t.equal(offered.length, count, what)
  }
  const silent = await home(t, { settings: () => ({ forward_bounces: false }) })
  const email = await silent.send()
  await silent.arrive(dsn(unknownUser()), email.path())
  t.same([silent.offered, await silent.statuses(email)], [[], ['bounced', 'bounced']], 'where the operator says so')
})

t.test('our own report has ENVID, ORCPT and RET, and is queued as mail of the service', async (t) => {
  const { database, send, arrive, offered } = await home(t)
  const email = await send({ orcpt: 'rfc822;team@a.test', email: { envid: 'QQ+31', ret: 'headers' } })
  await arrive(dsn(unknownUser()), email.path())
  const [notice] = offered
  t.match(notice?.email, { workspace_id: 'service', envelope_from: '', to_emails: '["app@a.test"]' })
  const [row] = await database.read<{ raw: Buffer }>('select raw from raw_messages where email_id = ?', [
    notice?.email.id,
  ])
  const text = row?.raw.toString() ?? ''
  t.match(text, /\r\nOriginal-Envelope-Id: QQ\+31\r\n/)
  t.match(text, /\r\nOriginal-Recipient: rfc822;team@a\.test\r\nFinal-Recipient: rfc822; bob@b\.test\r\n/)
  t.match(text, /\r\nAction: failed\r\nStatus: 5\.1\.1\r\nDiagnostic-Code: x-posthorn; 550 5\.1\.1 user unknown\r\n/)
  t.match(text, /\r\nContent-Type: text\/rfc822-headers\r\n/)
  t.same(await database.read('select recipient from queue', []), [{ recipient: 'app@a.test' }])
})

t.test('our own report is made even if the message is no longer stored', async (t) => {
  const { database, send, arrive, offered } = await home(t)
  const email = await send()
  await database.commit([{ sql: 'delete from raw_messages', parameters: [] }])
  await arrive(dsn(unknownUser()), email.path())
  t.equal(offered.length, 1)
})

t.test('a notification that cannot be prepared does not block the rest', async (t) => {
  const { database, send, arrive, statuses, log, offered } = await home(t)
  const email = await send()
  await database.commit([{ sql: `update recipients set notify = 'nonsense'`, parameters: [] }])
  await arrive(dsn(unknownUser()), email.path())
  t.same([await statuses(email), offered], [['bounced', 'bounced'], []])
  t.match(log.join(''), /a notification could not be built/)
})

t.test('while the message cannot be read from disk the report waits, with its notification', async (t) => {
  let known: Database | undefined
  let broken = true
  const { database, send, arrive, statuses, offered } = await home(t, {
    read: async (sql, parameters) => {
      if (broken && sql.includes('raw_messages')) throw new StorageFault('SQLITE_IOERR', 'disk I/O error')
      return (await known?.read(sql, parameters)) ?? []
    },
  })
  known = database
  const email = await send()
  await t.rejects(arrive(dsn(unknownUser()), email.path()), { code: 'SQLITE_IOERR' })
  t.same([await statuses(email), offered], [['delivered', 'delivered'], []])
  broken = false
  await database.commit([{ sql: 'delete from inbound_emails', parameters: [] }])
  await database.commit([{ sql: 'delete from inbound_raw', parameters: [] }])
  await arrive(dsn(unknownUser()), email.path())
  t.same([await statuses(email), offered.length], [['bounced', 'bounced'], 1])
})

t.test('the log names the effect of a report, and none of its text', async (t) => {
  const { send, arrive, log, statuses } = await home(t)
  const email = await send()
  const prose = 'From: MAILER-DAEMON@b.test\r\nSubject: failure notice\r\n\r\nYour secret is out: user unknown\r\n'
  await arrive(prose, email.path())
  t.same(await statuses(email), ['bounced', 'bounced'])
  t.notMatch(log.join(''), /secret/)
})

t.test('odd and huge reports never throw', async (t) => {
  const { send, arrive, statuses } = await home(t)
  const email = await send()
  await arrive('', email.path(), FBL, createUnsubscribeAddress(secret, email.ids[0] ?? '', host))
  await arrive('\0'.repeat(2_000_000), email.path())
  await arrive(dsn(...Array.from({ length: 5_000 }, (_, n) => unknownUser(`r${n}@b.test`))), email.path())
  t.same(await statuses(email), ['delivered', 'delivered'])
  const long = about('bob@b.test', 'failed', '5.1.1', `550 5.1.1 ${'no such user '.repeat(10_000)}`)
  await arrive(dsn(long), email.path())
  t.same(await statuses(email), ['bounced', 'bounced'])
})

t.test('the processor reads a report unchanged, even if its returned message is a bomb', async (t) => {
  const { database, acts, send, statuses, events } = await home(t)
  const email = await send()
  const mime = new MimeReader({ ...defaultMimeLimits, processes: 1 }, contentAnalyzer)
  const mail = {
    process: (): never => {
      throw new Error('mail')
    },
  }
  const log = pino({ level: 'silent' })
  const { read, commit } = database
  const judges = {
    ...noReports,
    mail,
    reports: { process: async (...report: Parameters<ReportProcessor['process']>) => acts.process(...report) },
  }
  const crashGuard = { suspects: [], begin: () => undefined, finish: () => undefined }
  const processor = new InboundProcessor({
    ...{ node: testNode, read, commit, clock: () => 1, log, mime, crashGuard },
    ...judges,
  })
  t.teardown(async () => {
    await processor.stop()
    await mime.close()
  })
  const deep = Array.from(
    { length: 2000 },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`,
  )
  const bomb = dsn(unknownUser()).replace(
    '--xx--',
    `--xx\r\nContent-Type: message/rfc822\r\n\r\n${deep.join('')}--xx--`,
  )
  for (const id of ['one', 'two']) {
    const record = inboundMail({ id, kind: 'report', envelope_from: '', envelope_to: [email.path()] })
    await commit(storeInbound(record, Buffer.from(bomb)))
  }
  processor.start()
  await waitUntil('both are gone', async () => (await read('select 1 from inbound_emails', [])).length === 0)
  t.same([await statuses(email), (await events()).length], [['bounced', 'bounced'], 1])
})
