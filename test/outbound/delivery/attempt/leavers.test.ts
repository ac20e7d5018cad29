/** Tests which messages that wait are left out, and that leaving one out undoes no other change. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import type { SuppressionReason } from '../../../../src/base/storage/tables/content-tables.js'
import { Leavers } from '../../../../src/outbound/delivery/attempt/leavers.js'
import {
  deferEntry,
  entryById,
  leaseEntry,
  type QueueEntry,
  removeEntry,
} from '../../../../src/records/messages/queue/queue.js'
import { SuppressionCache } from '../../../../src/records/suppressions/suppression-cache.js'
import { suppress } from '../../../../src/records/suppressions/suppressions.js'
import { sentBroadcast } from '../../../helpers/database/broadcast.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { testNode } from '../../../helpers/database/test-engine.js'

interface Fixture {
  readonly database: Database
  readonly deps: Pick<Database, 'read' | 'commit'>
  readonly leavers: Leavers
  readonly ids: { broadcast: string; audience: string; contact: string; email: string }
  /** The entry of the first contact. */
  readonly entry: QueueEntry
  readonly other: QueueEntry
}

async function openFixture(t: Test): Promise<Fixture> {
  const { database } = await temporaryDatabase(t)
  const suppressions = new SuppressionCache(database.read)
  const deps = { read: database.read, commit: suppressions.watch(database.commit) }
  const leavers = new Leavers({ ...deps, suppressions })
  const sent = await sentBroadcast(database.read, { workspaceId: 'ws_1', to: ['Bob@b.test', 'ann@b.test'], at: 1_000 })
  await database.commit([
    ...sent.writes,
    await rowOf(database.read)('audiences', {
      id: 'another',
      workspace_id: 'ws_1',
      name: 'another',
      created_at: 1_000,
    }),
  ])
  const [bob, ann] = sent.messages
  if (bob === undefined || ann === undefined) throw new Error('a message is missing')
  return {
    ...{
      database,
      deps,
      leavers,
      entry: await entryOf(database, bob.recipientId),
      other: await entryOf(database, ann.recipientId),
    },
    ids: { broadcast: sent.id, audience: sent.audienceId, contact: bob.contactId, email: bob.emailId },
  }
}

async function entryOf({ read }: Database, id: string): Promise<QueueEntry> {
  const [entry] = await entryById(read, { id })
  if (entry === undefined) throw new Error(`no entry ${id}`)
  return entry
}

const change = (sql: string, ...parameters: readonly unknown[]): Write => ({ sql, parameters, rows: 1 })

type Changes = (ids: Fixture['ids']) => readonly Write[]

const leaving: readonly (readonly [what: string, changes: Changes])[] = [
  ['unsubscribed', ({ contact }) => [change('update contacts set subscribed = 0 where id = ?', contact)]],
  ['deleted', ({ contact }) => [change('delete from contacts where id = ?', contact)]],
  ['moved', ({ contact }) => [change(`update contacts set audience_id = 'another' where id = ?`, contact)]],
  ['in no audience', ({ contact }) => [change('update contacts set audience_id = null where id = ?', contact)]],
  ['in a deleted audience', ({ audience }) => [change('delete from audiences where id = ?', audience)]],
  [
    'of another workspace',
    ({ contact }) => [change(`update contacts set workspace_id = 'ws_2' where id = ?`, contact)],
  ],
]

for (const [what, changes] of leaving) {
  t.test(`a contact that is ${what} is left out`, async (t) => {
    const { database, leavers, ids, entry } = await openFixture(t)
    t.equal(await leavers.has(entry), false)
    await database.commit(changes(ids))
    t.equal(await leavers.has(entry), true)
  })
}

t.test('a contact stays if another one leaves, or if the broadcast or its message is unknown', async (t) => {
  const { database, leavers, ids, entry, other } = await openFixture(t)
  await database.commit([change('delete from contacts where id = ?', ids.contact)])
  t.equal(await leavers.has(other), false)
  t.equal(await leavers.has({ ...entry, email_id: 'bc-unknown' }), false)
  await database.commit([change('delete from broadcasts where id = ?', ids.broadcast)])
  t.equal(await leavers.has(entry), false)
})

t.test('a suppressed address is left out, also of a broadcast that was deleted', async (t) => {
  const { database, leavers, deps, ids, entry, other } = await openFixture(t)
  const added = {
    email: parseAddress('bob@B.test'),
    reason: 'manual',
    sourceEmailId: null,
    metadata: {},
    at: 1,
  } as const
  await suppress(deps, { ...added, workspaceId: 'ws_2' })
  t.equal(await leavers.has(entry), false)
  await suppress(deps, { ...added, workspaceId: 'ws_1' })
  t.same([await leavers.has(entry), await leavers.has(other)], [true, false])
  await database.commit([change('delete from broadcasts where id = ?', ids.broadcast)])
  t.equal(await leavers.has(entry), true)
})

const statusesOf = async ({ read }: Database, { id, email_id }: QueueEntry): Promise<unknown> => [
  ...(await read('select status, settled_at from recipients where id = ?', [id])),
  ...(await read('select status from emails where id = ?', [email_id])),
]
const queued = [{ status: 'queued', settled_at: null }, { status: 'queued' }]

t.test('who has left is cancelled, counted, and no event', async (t) => {
  const { database, leavers, entry, other } = await openFixture(t)
  await leavers.remove(entry, 5_000)
  t.same(await entryById(database.read, { id: entry.id }), [])
  t.same(await statusesOf(database, entry), [{ status: 'cancelled', settled_at: 5_000 }, { status: 'cancelled' }])
  t.match(await database.read('select * from broadcast_counts', []), [
    { recipients: 2, queued: 1, cancelled: 1, failed: 0 },
  ])
  t.same(await database.read(`select 1 from events where type <> 'email.queued'`, []), [])
  t.same([await statusesOf(database, other), await entryById(database.read, { id: other.id })], [queued, [other]])
  await leavers.remove(entry, 6_000)
  t.same(await statusesOf(database, entry), [{ status: 'cancelled', settled_at: 5_000 }, { status: 'cancelled' }])
})

t.test('a recipient whom the suppression list removed is an event with its reason', async (t) => {
  const { database, leavers, deps, entry } = await openFixture(t)
  const added = { workspaceId: 'ws_1', email: parseAddress(entry.recipient), reason: 'spam_complaint' } as const
  await suppress(deps, { ...added, sourceEmailId: null, metadata: {}, at: 1 })
  await leavers.remove(entry, 5_000)
  t.same(await statusesOf(database, entry), [{ status: 'cancelled', settled_at: 5_000 }, { status: 'cancelled' }])
  const events = await database.read<{ data: string }>(
    `select email_id, recipient, created_at, data from events where type = 'email.suppressed'`,
    [],
  )
  t.match(events, [{ email_id: entry.email_id, recipient: entry.recipient, created_at: 5_000 }])
  t.match(JSON.parse(events[0]?.data ?? ''), { to: entry.recipient, reason: 'spam_complaint' })
})

async function openOrdinary(t: Test, at: { readonly scheduledFor?: number } = {}) {
  const { database } = await temporaryDatabase(t)
  const suppressions = new SuppressionCache(database.read)
  const deps = { read: database.read, commit: suppressions.watch(database.commit) }
  const leavers = new Leavers({ ...deps, suppressions })
  const email = bulkEmail({ workspaceId: 'ws_1', to: ['bob@b.test', 'ann@b.test'], at: 1_000, ...at })
  await database.commit(email.writes)
  const [entry, other] = await Promise.all(email.entries.map(({ id }) => entryOf(database, id)))
  if (entry === undefined || other === undefined) throw new Error('an entry is missing')
  const suppressAs = (reason: SuppressionReason) =>
    suppress(deps, {
      ...{ email: parseAddress('bob@b.test'), workspaceId: 'ws_1', reason },
      ...{ sourceEmailId: null, metadata: {}, at: 2_000 },
    })
  return { database, leavers, entry, other, suppressAs }
}

t.test(
  'an ordinary email is left out for an address that a person suppressed, and not for one that bounced',
  async (t) => {
    for (const [reason, left] of [
      ['unsubscribe', true],
      ['spam_complaint', true],
      ['manual', true],
      ['hard_bounce', false],
    ] as const) {
      const { leavers, entry, other, suppressAs } = await openOrdinary(t)
      t.equal(await leavers.has(entry), false)
      await suppressAs(reason)
      t.same([await leavers.has(entry), await leavers.has(other)], [left, false], reason)
    }
  },
)

for (const [what, at] of [
  ['waits', {}],
  ['is scheduled', { scheduledFor: 4_000 }],
] as const) {
  t.test(`a recipient of an email that ${what} becomes suppressed, with an event, and the others stay`, async (t) => {
    const { database, leavers, entry, other, suppressAs } = await openOrdinary(t, at)
    await suppressAs('unsubscribe')
    await leavers.remove(entry, 5_000)
    t.same(await statusesOf(database, entry), [{ status: 'suppressed', settled_at: 5_000 }, { status: 'queued' }])
    t.same(await statusesOf(database, other), [{ status: 'queued', settled_at: null }, { status: 'queued' }])
    t.same(
      [await entryById(database.read, { id: entry.id }), await entryById(database.read, { id: other.id })],
      [[], [other]],
    )
    t.match(await database.read('select recipients_queued, recipients_suppressed from emails', []), [
      { recipients_queued: 1, recipients_suppressed: 1 },
    ])
    t.match(await database.read(`select recipient from events where type = 'email.suppressed'`, []), [
      { recipient: 'bob@b.test' },
    ])
  })
}

t.test('a scheduled email that was cancelled meanwhile stays cancelled', async (t) => {
  const { database, leavers, entry, suppressAs } = await openOrdinary(t, { scheduledFor: 4_000 })
  await suppressAs('manual')
  await database.commit([change(`update recipients set status = 'cancelled' where id = ?`, entry.id)])
  await leavers.remove(entry, 5_000)
  t.match(await statusesOf(database, entry), [{ status: 'cancelled' }, {}])
  t.same(await database.read(`select 1 from events where type = 'email.suppressed'`, []), [])
})

const concurrent: readonly (readonly [what: string, changes: (entry: QueueEntry) => readonly Write[]])[] = [
  ['held by the operator', ({ id }) => [change('update queue set held = 1 where id = ?', id)]],
  ['held by a pause', ({ id }) => [change('update queue set held = 2 where id = ?', id)]],
  ['deferred', ({ id }) => [deferEntry({ id, at: 9_000, noticed: 0, lastResponse: '451 later' })]],
  [
    'leased',
    ({ id, attempts, next_attempt_at: dueAt }) => [leaseEntry({ id, node: testNode, attempts, dueAt, until: 9_000 })],
  ],
  ['removed', ({ id }) => [removeEntry({ id })]],
]

for (const [what, changes] of concurrent) {
  t.test(`an entry that was ${what} meanwhile is not cancelled`, async (t) => {
    const { database, leavers, entry } = await openFixture(t)
    await database.commit(changes(entry))
    const before = await entryById(database.read, { id: entry.id })
    await leavers.remove(entry, 5_000)
    t.same(await entryById(database.read, { id: entry.id }), before)
    t.same(await statusesOf(database, entry), queued)
  })
}

t.test('an outcome that is known already stays', async (t) => {
  const { database, leavers, deps, entry } = await openFixture(t)
  await database.commit([
    change(`update recipients set status = 'bounced', settled_at = 2000 where id = ?`, entry.id),
    change(`update emails set status = 'bounced' where id = ?`, entry.email_id),
  ])
  const added = { workspaceId: 'ws_1', email: parseAddress(entry.recipient), reason: 'hard_bounce' } as const
  await suppress(deps, { ...added, sourceEmailId: entry.email_id, metadata: {}, at: 2_000 })
  await leavers.remove(entry, 5_000)
  t.same(await statusesOf(database, entry), [{ status: 'bounced', settled_at: 2_000 }, { status: 'bounced' }])
  t.same(await database.read(`select 1 from events where type = 'email.suppressed'`, []), [])
})
