/** Leases and the operator's changes to the queue: each change misses rather than undoing another. */

import SQLite from 'better-sqlite3'
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { holdRestoredQueue, RESTORED } from '../../../../src/base/storage/maintenance/hold-queue.js'
import {
  deferEntry,
  entryById,
  leaseEntry,
  postponeLane,
  postponeLease,
  type QueueEntry,
  recoverLeases,
  releaseLease,
  removeEntry,
} from '../../../../src/records/messages/queue/queue.js'
import {
  deleteEntry,
  holdEntry,
  type ListedEntry,
  listEntries as listPage,
  type QueueFilter,
  releaseEntry,
  retryEntry,
} from '../../../../src/records/messages/queue/queue-admin.js'
import { walkEntries } from '../../../../src/records/messages/queue/queue-pages.js'
import { queueStatuses } from '../../../../src/records/messages/queue/queue-status.js'
import { queueStatusOf } from '../../../../src/records/messages/queue/wait-reason.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { fileOfSqlite, skipOnPostgres, testNode } from '../../../helpers/database/test-engine.js'

async function entryOf(
  database: Database,
  to = 'x@b.test',
  more: Partial<Parameters<typeof bulkEmail>[0]> = {},
): Promise<QueueEntry> {
  const { writes, email } = bulkEmail({ workspaceId: 'ws_1', to, at: 1000, ...more })
  await database.commit(writes)
  const [row] = await database.read<{ id: string }>('select id from queue where email_id = ?', [email.id])
  return read(database, row?.id ?? '')
}

async function read(database: Database, id: string): Promise<QueueEntry> {
  const [entry] = await entryById(database.read, { id })
  if (entry === undefined) throw new Error(`no entry ${id}`)
  return entry
}

const listEntries = (database: Database, filter: QueueFilter = {}): Promise<ListedEntry[]> =>
  listPage(database.read, { ...filter, after: '', limit: 1_000 })

const lease = ({ id, attempts, next_attempt_at: dueAt }: QueueEntry, until: number): ReturnType<typeof leaseEntry> =>
  leaseEntry({ id, node: testNode, attempts, dueAt, until })

t.test('a lease counts the attempt, and is granted once', async (t) => {
  const { database } = await temporaryDatabase(t)
  const entry = await entryOf(database)
  const outcomes = await Promise.allSettled([
    database.commit([lease(entry, 9000)]),
    database.commit([lease(entry, 9000)]),
  ])
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.match(await read(database, entry.id), { attempts: 1, next_attempt_at: 9000, leased: 1 })
  await t.rejects(
    database.commit([lease({ ...entry, attempts: 1 }, 9500)]),
    WriteConflict,
    'nor when it was moved since it was read',
  )
  await database.commit([releaseLease({ id: entry.id, node: testNode, at: 2000 })])
  t.match(await read(database, entry.id), { attempts: 0, next_attempt_at: 2000, leased: 0 })
  await database.commit([releaseLease({ id: entry.id, node: testNode, at: 3000 })])
  t.match(await read(database, entry.id), { attempts: 0, next_attempt_at: 2000 }, 'what is not leased is not released')
})

t.test('a deferral ends the lease, and a held entry gets none', async (t) => {
  const { database } = await temporaryDatabase(t)
  const entry = await entryOf(database)
  await database.commit([lease(entry, 9000)])
  await database.commit([deferEntry({ id: entry.id, at: 5000, noticed: 1, lastResponse: '450 later' })])
  const later = await read(database, entry.id)
  t.match(later, { attempts: 1, next_attempt_at: 5000, leased: 0, noticed: 1, last_response: '450 later' })
  await database.commit([holdEntry(entry.id, 0)])
  await t.rejects(database.commit([lease(later, 9000)]), WriteConflict)
  await database.commit([releaseEntry(entry.id, 0)])
  await database.commit([lease(later, 9000)])
  await database.commit([removeEntry({ id: entry.id })])
  t.same(await entryById(database.read, { id: entry.id }), [])
})

t.test(
  'what a restore held names that reason until it is released, and the host of an entry that waits for one stays',
  { skip: skipOnPostgres(fileOfSqlite) },
  async (t) => {
    const { database, file } = await temporaryDatabase(t)
    const restored = await entryOf(database)
    const db = new SQLite(file)
    t.equal(holdRestoredQueue(db, 1000), 1)
    // A rule of the backup may have ended since, and its mail was sent then.
    db.exec(`update queue set held = 4, hold_rule = 'hr_1', waits_for = 'hold rule hr_1'`)
    t.equal(holdRestoredQueue(db, 1000), 1)
    t.equal(db.prepare('select hold_rule from queue').pluck().get(), null)
    db.close()
    t.match(await read(database, restored.id), { held: 1, waits_for: RESTORED })
    await database.commit([releaseEntry(restored.id, 0)])
    t.match(await read(database, restored.id), { held: 0, waits_for: null })
    const waiting = await entryOf(database, 'y@b.test')
    await database.commit([
      { sql: 'update queue set waits_for = ? where id = ?', parameters: ['mx.b.test', waiting.id] },
      holdEntry(waiting.id, 0),
      releaseEntry(waiting.id, 0),
    ])
    t.match(await read(database, waiting.id), { held: 0, waits_for: 'mx.b.test' })
  },
)

t.test(
  'what was being attempted at the time of a backup is due as soon as a restore has held it, not at the end of its lease',
  { skip: skipOnPostgres(fileOfSqlite) },
  async (t) => {
    const { database, file } = await temporaryDatabase(t)
    const leased = await entryOf(database)
    await database.commit([lease(leased, 9_000_000)])
    const scheduled = await entryOf(database, 'y@b.test', { at: 7_000_000 })
    const db = new SQLite(file)
    t.equal(holdRestoredQueue(db, 1000), 2)
    db.close()
    t.match(await read(database, leased.id), { held: 1, leased: 0, next_attempt_at: 1000 })
    t.match(await read(database, scheduled.id), { held: 1, next_attempt_at: 7_000_000 })
  },
)

t.test('after a crash interrupted attempts are repeated, each later the more attempts it had', async (t) => {
  const { database } = await temporaryDatabase(t)
  const entries: QueueEntry[] = []
  for (const attempts of [0, 1, 4]) {
    const entry = await entryOf(database)
    await database.commit([{ sql: 'update queue set attempts = ? where id = ?', parameters: [attempts, entry.id] }])
    const counted = { ...entry, attempts }
    await database.commit([lease(counted, 900_000)])
    entries.push(counted)
  }
  const waiting = await entryOf(database, 'y@b.test', { at: 7_000_000 })
  await database.commit([recoverLeases({ node: testNode, at: 10_000 })])
  t.same(
    (await Promise.all(entries.map(({ id }) => read(database, id)))).map(({ next_attempt_at, leased, attempts }) => [
      next_attempt_at,
      leased,
      attempts,
    ]),
    [
      [10_000, 0, 1],
      [40_000, 0, 2],
      [130_000, 0, 5],
    ],
  )
  t.equal((await read(database, waiting.id)).next_attempt_at, 7_000_000, 'what was not leased waits as it did')
})

t.test('due entries of a lane are postponed, no later than their maximum age, and no attempt is counted', async (t) => {
  const { database } = await temporaryDatabase(t)
  const domain = parseDomainName('b.test')
  const lane = { node: testNode, workspaceId: 'ws_1', domain, priority: 1, now: 105_000, until: 135_000 } as const
  const due = { at: 101_000 }
  const limits = { firstLimit: 20_000, lastLimit: 90_000, waitsFor: 'mx.b.test (down)' }
  const postpone = (maxEntries = 500) => database.commit([postponeLane({ ...lane, ...limits, maxEntries })])
  const fresh = await entryOf(database, 'fresh@b.test', due)
  const noticed = await entryOf(database, 'noticed@b.test', due)
  const overdue = await entryOf(database, 'overdue@b.test', { at: 85_000 })
  const old = await entryOf(database, 'old@b.test', { at: 85_000 })
  const later = await entryOf(database, 'later@b.test', { at: 105_001 })
  const held = await entryOf(database, 'held@b.test', due)
  const sending = await entryOf(database, 'sending@b.test', due)
  const others = [
    await entryOf(database, 'x@c.test', due),
    await entryOf(database, 'x@b.test', { ...due, workspaceId: 'ws_2' }),
    await entryOf(database, 'low@b.test', { ...due, priority: 'low' }),
  ]
  await database.commit([
    deferEntry({ id: noticed.id, at: 102_000, noticed: 1, lastResponse: '450 later' }),
    deferEntry({ id: old.id, at: 102_000, noticed: 1, lastResponse: '450 later' }),
    holdEntry(held.id, 0),
    lease(sending, 900_000),
  ])
  await postpone()
  const now = async ({ id }: QueueEntry): Promise<unknown[]> => {
    const { next_attempt_at, waits_for, attempts } = await read(database, id)
    return [next_attempt_at, waits_for, attempts]
  }
  t.same(await now(fresh), [121_000, 'mx.b.test (down)', 0], 'its sender is due a delay notification then')
  t.same(await now(noticed), [135_000, 'mx.b.test (down)', 0])
  t.same(await now(old), [135_000, 'mx.b.test (down)', 0])
  t.same(await now(overdue), [85_000, null, 0], 'it is tried in any case')
  t.same(await now(sending), [900_000, null, 1])
  for (const other of [later, held, ...others])
    t.same(await now(other), [other.next_attempt_at, null, 0], other.recipient)
  await database.commit([lease(await read(database, noticed.id), 900_000)])
  t.equal((await read(database, noticed.id)).waits_for, null, 'an attempt waits for nothing')
  await database.commit([postponeLease({ id: noticed.id, node: testNode, until: 40_000, waitsFor: 'again' })])
  t.match(await read(database, noticed.id), { attempts: 0, leased: 0, next_attempt_at: 40_000, waits_for: 'again' })
  await database.commit([postponeLease({ id: noticed.id, node: testNode, until: 50_000, waitsFor: 'never' })])
  t.equal((await read(database, noticed.id)).next_attempt_at, 40_000, 'what is not leased is not given back')
  await database.commit([retryEntry({ id: noticed.id, at: 104_500 })])
  t.match(await read(database, noticed.id), { next_attempt_at: 104_500, waits_for: null })
  for (const at of [104_000, 103_000]) await entryOf(database, `at${at}@b.test`, { at })
  await postpone(1)
  t.same(
    await database.read('select recipient from queue where next_attempt_at in (103000, 104000)', []),
    [{ recipient: 'at104000@b.test' }],
    'the oldest first, in portions',
  )
})

t.test('lists are narrowed by every filter', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit } = database
  const queued = await entryOf(database, 'queued@b.test')
  const deferred = await entryOf(database, 'deferred@c.test')
  const scheduled = await entryOf(database, 'scheduled@b.test', { scheduledFor: 9000 })
  const sending = await entryOf(database, 'sending@b.test')
  const held = await entryOf(database, 'held@b.test')
  const foreign = await entryOf(database, 'x@b.test', { workspaceId: 'ws_2', from: 'app@a_b.test' })
  await commit([lease(deferred, 2000)])
  await commit([deferEntry({ id: deferred.id, at: 5000, noticed: 0, lastResponse: '450 later' }), lease(sending, 2000)])
  await commit([holdEntry(held.id, 0)])
  const ids = async (filter: QueueFilter): Promise<string[]> =>
    (await listEntries(database, filter)).map(({ id }) => id).sort()
  const all = [queued, deferred, scheduled, sending, held, foreign].map(({ id }) => id).sort()
  t.same(await ids({}), all)
  t.same(await ids({ workspaceId: 'ws_2' }), [foreign.id])
  t.same(await ids({ domain: 'c.test' }), [deferred.id])
  t.same(await ids({ ids: [queued.id, 'nothing'] }), [queued.id])
  for (const status of queueStatuses) {
    const found = await listEntries(database, { status, workspaceId: 'ws_1' })
    t.same(found.map(queueStatusOf), [status], status)
  }
  t.same(await ids({ status: 'queued', domain: 'c.test' }), [])
})

t.test('a long list comes in pages, nothing twice and nothing left out', async (t) => {
  const { database } = await temporaryDatabase(t)
  const emails = Array.from({ length: 1203 }, () => bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 }))
  await Promise.all(emails.map(({ writes }) => database.commit(writes)))
  const ids: string[] = []
  for await (const portion of walkEntries(database.read, {})) ids.push(...portion.map(({ id }) => id))
  t.equal(new Set(ids).size, 1203)
  t.same(ids, ids.toSorted())
})

t.test('an entry that is being attempted cannot be changed by the operator', async (t) => {
  const { database } = await temporaryDatabase(t)
  const entry = await entryOf(database)
  await database.commit([lease(entry, 9000)])
  const [row] = await listEntries(database)
  if (row === undefined) throw new Error('nothing listed')
  for (const writes of [
    [holdEntry(entry.id, 0)],
    [releaseEntry(entry.id, 0)],
    [retryEntry({ id: entry.id, at: 1 })],
    deleteEntry(row, 1, 'operator'),
  ]) {
    await t.rejects(database.commit(writes), WriteConflict)
  }
  t.match(await listEntries(database), [{ recipient_status: 'queued', leased: 1, held: 0, next_attempt_at: 9000 }])
})

t.test('deleting settles the recipient, once', async (t) => {
  const { database } = await temporaryDatabase(t)
  await entryOf(database)
  const [row] = await listEntries(database)
  if (row === undefined) throw new Error('nothing listed')
  await database.commit(deleteEntry(row, 5000, 'domain-deleted'))
  t.match(await database.read('select status, reason, settled_at from recipients', []), [
    { status: 'failed', reason: 'domain-deleted', settled_at: 5000 },
  ])
  t.match(await database.read('select status from emails', []), [{ status: 'failed' }])
  await t.rejects(database.commit(deleteEntry(row, 5000, 'operator')), WriteConflict)
  t.equal((await database.read(`select 1 from events where type = 'email.failed'`, [])).length, 1)
})

t.test('a report of the service is deleted without an event', async (t) => {
  const { database } = await temporaryDatabase(t)
  await entryOf(database, 'x@b.test', { workspaceId: 'service' })
  const [row] = await listEntries(database)
  if (row === undefined) throw new Error('nothing listed')
  await database.commit(deleteEntry(row, 5000, 'operator'))
  t.same(await database.read('select 1 from events', []), [])
})

t.test('an expired lease blocks nothing: its process is gone', async (t) => {
  const { database } = await temporaryDatabase(t)
  const entries = [await entryOf(database), await entryOf(database), await entryOf(database)]
  await database.commit(entries.map((entry) => lease(entry, 9000)))
  const [held, retried, deleted] = (await listEntries(database)) as [ListedEntry, ListedEntry, ListedEntry]
  await database.commit([holdEntry(held.id, 9000)])
  await database.commit([retryEntry({ id: retried.id, at: 9500 })])
  await database.commit(deleteEntry(deleted, 9000, 'operator'))
  t.match(
    (await listEntries(database)).map((entry) => [queueStatusOf(entry), entry.next_attempt_at]),
    [
      ['held', 9000],
      ['deferred', 9500],
    ],
  )
})
