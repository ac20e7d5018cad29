/** News about a recipient after its last attempt: which state lets it act, and how often. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { WriteConflict } from '../../../src/base/storage/db/write.js'
import type { RecipientStatus } from '../../../src/base/storage/tables/email-tables.js'
import { emailById } from '../../../src/records/messages/email/email.js'
import { recipientOfAnyWorkspace } from '../../../src/records/messages/email/recipients.js'
import {
  type LateOutcome,
  type LateOutcomeResult,
  nextStatus,
  resolveLateOutcome,
} from '../../../src/records/messages/late-outcome.js'
import { enqueue } from '../../../src/records/messages/queue/enqueue.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const trouble = { reason: 'bad-mailbox', diagnostic: '550 5.1.1 no such user' } as const
const refused: LateOutcome = { kind: 'refused', ...trouble }
const givenUp: LateOutcome = { kind: 'given-up', reason: 'mailbox-full', diagnostic: '452 4.2.2 full' }
const delayed: LateOutcome = { kind: 'delayed', reason: 'mailbox-full', diagnostic: '452 4.2.2 full' }
const delivered: LateOutcome = { kind: 'delivered', diagnostic: '250 ok' }
const complained: LateOutcome = { kind: 'complained', feedbackType: 'abuse' }
const unsubscribed: LateOutcome = { kind: 'unsubscribed' }

const statuses: readonly RecipientStatus[] = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'suppressed',
  'cancelled',
]

/** For each kind of news, the states in which it acts and their results; in all others it does nothing. */
const table: Readonly<Record<LateOutcome['kind'], readonly (readonly [RecipientStatus, RecipientStatus])[]>> = {
  refused: [
    ['sent', 'bounced'],
    ['delivered', 'bounced'],
  ],
  'given-up': [
    ['sent', 'sent'],
    ['delivered', 'delivered'],
  ],
  delayed: [
    ['sent', 'sent'],
    ['delivered', 'delivered'],
  ],
  delivered: [['sent', 'delivered']],
  complained: [
    ['queued', 'queued'],
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['bounced', 'bounced'],
    ['failed', 'failed'],
  ],
  unsubscribed: [
    ['queued', 'queued'],
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['bounced', 'bounced'],
    ['failed', 'failed'],
  ],
}

t.test('the table of states', async (t) => {
  for (const [news, acting] of Object.entries(table) as [LateOutcome['kind'], (typeof table)['refused']][]) {
    for (const status of statuses) {
      const expected = acting.find(([from]) => from === status)?.[1] ?? null
      t.equal(nextStatus(status, news), expected, `${news} of ${status}`)
    }
  }
})

interface Home {
  readonly database: Database
  readonly late: (news: LateOutcome, at: number, to?: string) => Promise<LateOutcomeResult>
  readonly hear: (news: LateOutcome, at: number, to?: string) => Promise<string>
  readonly row: (to?: string) => Promise<Record<string, unknown>>
  readonly email: () => Promise<Record<string, unknown>>
  readonly events: () => Promise<readonly Record<string, unknown>[]>
}

async function storeSettled(t: Test, status: RecipientStatus, others: readonly string[] = []): Promise<Home> {
  const { database } = await temporaryDatabase(t)
  const { email } = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: 1000 })
  const recipients = ['bob@b.test', ...others].map((to) => ({
    address: parseAddress(to),
    suppressed: false,
    notify: null,
    orcpt: null,
  }))
  const made = enqueue(email, recipients, Buffer.from('From: app@a.test\r\n\r\n'))
  await database.commit([
    ...made.writes,
    {
      sql: `update recipients set status = ?, settled_at = 2000, last_response = '250 taken', delivered_at = 2000`,
      parameters: [status],
    },
    { sql: 'update emails set status = ?', parameters: [status] },
    { sql: 'delete from events', parameters: [] },
  ])
  const { read, commit } = database
  const idOf = (to: string): string => made.entries.find(({ recipient }) => recipient === to)?.id ?? ''
  const late = async (news: LateOutcome, at: number, to = 'bob@b.test'): Promise<LateOutcomeResult> => {
    const [recipient] = await recipientOfAnyWorkspace(read, { id: idOf(to) })
    const [found] = await emailById(read, { workspaceId: 'ws_1', id: email.id })
    if (recipient === undefined || found === undefined) throw new Error('no recipient')
    return resolveLateOutcome(read, { recipient, email: found }, news, at)
  }
  return {
    database,
    late,
    hear: async (news, at, to) => {
      const found = await late(news, at, to)
      if (found.kind === 'ignored') return found.why
      await commit(found.writes)
      return found.kind
    },
    row: async (to = 'bob@b.test') =>
      (
        await read<Record<string, unknown>>(
          'select status, last_response, reason, delivered_at, settled_at from recipients where id = ?',
          [idOf(to)],
        )
      )[0] ?? {},
    email: async () =>
      (await read<Record<string, unknown>>('select status, delivered_at, bounced_at from emails', []))[0] ?? {},
    events: async () =>
      (await read<{ type: string; data: string }>('select type, data from events order by seq', [])).map(
        ({ type, data }) => ({
          type,
          ...(JSON.parse(data) as object),
        }),
      ),
  }
}

const about = { from: 'app@a.test', to: 'bob@b.test', subject: 'bulk', tags: {} }

t.test('a refusal bounces a delivered recipient, once, and says when it was accepted', async (t) => {
  const { hear, row, email, events } = await storeSettled(t, 'delivered')
  t.equal(await hear(refused, 5000), 'acts')
  t.same(Object.values(await row()), ['bounced', '550 5.1.1 no such user', 'bad-mailbox', 2000, 5000])
  t.same(Object.values(await email()), ['bounced', null, 5000])
  t.equal(await hear(refused, 6000), 'state')
  t.match(await events(), [
    {
      type: 'email.bounced',
      ...about,
      bounce_type: 'hard',
      bounce_subtype: 'bad-mailbox',
      bounce_reason: '550 5.1.1 no such user',
    },
  ])
  t.equal((await events()).length, 1)
})

t.test('an expired recipient keeps its state, shows the reason, and is reported once', async (t) => {
  const { hear, row, email, events } = await storeSettled(t, 'delivered')
  t.same([await hear(givenUp, 5000), await hear(givenUp, 6000)], ['acts', 'repeated'])
  t.same(Object.values(await row()), ['delivered', '452 4.2.2 full', 'mailbox-full', 2000, 2000])
  t.match(await email(), { status: 'delivered', bounced_at: null })
  t.same(
    (await events()).map(({ type, bounce_type }) => [type, bounce_type]),
    [['email.bounced', 'soft']],
  )
  t.equal(await hear(refused, 7000), 'acts', 'and a refusal after it still counts')
  t.equal((await events()).length, 2)
})

t.test('a delay is reported once, also after reports of our own attempts', async (t) => {
  const { database, hear, row, events } = await storeSettled(t, 'sent')
  await database.commit([
    {
      sql: `insert into events (id, workspace_id, type, email_id, recipient, created_at, data)
        select 'evt_1', 'ws_1', 'email.deferred', id, 'bob@b.test', 1500, '{}' from emails`,
      parameters: [],
    },
  ])
  t.same([await hear(delayed, 5000), await hear(delayed, 6000)], ['acts', 'repeated'])
  t.match(await events(), [
    {},
    { type: 'email.deferred', ...about, reason: 'mailbox-full', response: '452 4.2.2 full' },
  ])
  t.match(await row(), { status: 'sent', last_response: '250 taken' })
})

t.test('success turns sent into delivered', async (t) => {
  const { hear, row, email, events } = await storeSettled(t, 'sent')
  t.same([await hear(delivered, 5000), await hear(delivered, 6000)], ['acts', 'state'])
  t.match(await row(), { status: 'delivered', delivered_at: 5000, last_response: '250 taken' })
  t.match(await email(), { status: 'delivered', delivered_at: 5000 })
  t.match(await events(), [{ type: 'email.delivered', ...about, delivered_at: '1970-01-01T00:00:05.000Z' }])
})

t.test('a complaint is reported once for each recipient, and a later bounce does not replace it', async (t) => {
  const { hear, email, events, row } = await storeSettled(t, 'delivered', ['carol@b.test'])
  t.same([await hear(complained, 5000), await hear(complained, 6000)], ['acts', 'repeated'])
  t.equal(await hear(complained, 7000, 'carol@b.test'), 'acts')
  t.equal(await hear(refused, 8000), 'acts')
  t.match(await email(), { status: 'complained' })
  t.match(await row(), { status: 'bounced' })
  t.match((await events())[0], {
    type: 'email.complained',
    ...about,
    feedback_type: 'abuse',
    complained_at: '1970-01-01T00:00:05.000Z',
  })
  t.same(
    (await events()).map(({ type, to }) => [type, to]),
    [
      ['email.complained', 'bob@b.test'],
      ['email.complained', 'carol@b.test'],
      ['email.bounced', 'bob@b.test'],
    ],
  )
})

t.test('an unsubscription changes nothing of the email', async (t) => {
  const { hear, email, events } = await storeSettled(t, 'delivered')
  t.same([await hear(unsubscribed, 5000), await hear(unsubscribed, 6000)], ['acts', 'repeated'])
  t.match(await email(), { status: 'delivered' })
  t.match(await events(), [{ type: 'email.unsubscribed', ...about, unsubscribed_at: '1970-01-01T00:00:05.000Z' }])
})

t.test('one member of an alias that bounces leaves it delivered', async (t) => {
  const { hear, email } = await storeSettled(t, 'delivered', ['carol@b.test'])
  await hear(refused, 5000)
  t.match(await email(), { status: 'delivered', bounced_at: 5000 })
})

for (const news of [refused, givenUp, delayed, delivered, complained, unsubscribed]) {
  t.test(`of two commits at once of ${news.kind} one misses`, async (t) => {
    const { database, late, events } = await storeSettled(t, 'sent')
    const writes = [await late(news, 5000), await late(news, 5000)].map((found) =>
      found.kind === 'acts' ? found.writes : [],
    )
    const ends = await Promise.allSettled(writes.map((list) => database.commit(list)))
    t.same(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    t.ok(ends.some((end) => end.status === 'rejected' && end.reason instanceof WriteConflict))
    t.equal((await events()).length, 1)
  })
}

t.test('the row of another workspace is never touched', async (t) => {
  const { database, late, events, row } = await storeSettled(t, 'delivered')
  const found = await late(refused, 5000)
  await database.commit([{ sql: `update recipients set workspace_id = 'ws_2'`, parameters: [] }])
  await t.rejects(database.commit(found.kind === 'acts' ? found.writes : []), { name: 'WriteConflict' })
  t.match(await row(), { status: 'delivered' })
  t.same(await events(), [])
})
