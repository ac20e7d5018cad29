/**
 * A *queue entry* is one recipient of one message that is not settled. The outbound queue has one small row for each.
 *
 * A lease is a `next_attempt_at` in the future and a counted attempt. Both are written before the connection is made,
 * so the leases of a killed process need no cleanup, and a crash never makes this server flood a receiving host. A
 * settled entry leaves the table; its history is in `attempts`.
 *
 * Each entry belongs to a node (`storage/db/node-state`), which alone attempts it: leases and all reads of delivery name
 * that node.
 */
import { type Selectable, sql } from 'kysely'
import type { DomainName } from '../../../base/mail/address.js'
import { integerOf, leastOf } from '../../../base/storage/db/dialect.js'
import { prepareInsert, prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Flag } from '../../../base/storage/tables/columns.js'
import type { Priority } from '../../../base/storage/tables/email-tables.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

/**
 * An entry without the rule that holds it, because an entry that is attempted is not held, and without its node, which is
 * the one that reads it.
 */
export type QueueEntry = Omit<Selectable<Tables['queue']>, 'hold_rule' | 'node'>

export const priorityRank: Readonly<Record<Priority, 0 | 1 | 2>> = { high: 0, normal: 1, low: 2 }

const columns = [
  'id',
  'email_id',
  'workspace_id',
  'recipient',
  'domain',
  'priority',
  'attempts',
  'enqueued_at',
  'next_attempt_at',
  'leased',
  'held',
  'noticed',
  'last_response',
  'waits_for',
  'broadcast_id',
] as const satisfies readonly (keyof QueueEntry)[]

export const insertEntry = prepareInsert<QueueEntry>(({ db, slots }) => db.insertInto('queue').values(slots(columns)))

/** An entry that a node takes for its own. */
interface OwnEntry {
  readonly id: string
  readonly node: string
}

interface Lease extends OwnEntry {
  /** The values that the entry had when it was read: the first change of one of them wins. */
  readonly attempts: number
  readonly dueAt: number
  readonly until: number
}

const updateLease = prepareWrite<Lease & { next: number }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ attempts: slot('next'), next_attempt_at: slot('until'), leased: 1, waits_for: null })
      .where('id', '=', slot('id'))
      .where('node', '=', slot('node'))
      .where('attempts', '=', slot('attempts'))
      .where('next_attempt_at', '=', slot('dueAt'))
      .where('held', '=', HOLD.none),
  1,
)

/** Counts the attempt before it is made. Misses if the entry was changed since it was read, or has another node. */
export function leaseEntry(lease: Lease): Write {
  return updateLease({ next: lease.attempts + 1, ...lease })
}

/** Makes the entry wait until `at`. */
export const deferEntry = prepareWrite<{ id: string; at: number; noticed: Flag; lastResponse: string }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ next_attempt_at: slot('at'), leased: 0, noticed: slot('noticed'), last_response: slot('lastResponse') })
      .where('id', '=', slot('id')),
)

/** Returns a lease as if the attempt had not been counted, because nothing was sent. */
export const releaseLease = prepareWrite<OwnEntry & { at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set((eb) => ({ next_attempt_at: slot('at'), leased: 0, attempts: eb('attempts', '-', 1) }))
    .where('id', '=', slot('id'))
    .where('node', '=', slot('node'))
    .where('leased', '=', 1),
)

interface Postponement extends OwnEntry {
  readonly until: number
  readonly waitsFor: string
}

interface LanePostponement extends Omit<Postponement, 'id'> {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: 0 | 1 | 2
  readonly now: number
  /**
   * The ages at which an entry is tried in any case: the first for entries whose sender was not yet notified of a
   * delay, the second for all entries.
   */
  readonly firstLimit: number
  readonly lastLimit: number
  readonly maxEntries: number
}

/**
 * Postpones the due entries of one lane, oldest first, until `until` or until the limit of their age, whichever comes
 * first. Entries that have reached that limit stay due. No attempt is counted.
 */
export const postponeLane = prepareWrite<LanePostponement>(({ db, slot }) => {
  const limit = sql<number>`enqueued_at + case noticed when 1 then ${integerOf(slot('lastLimit'))}
    else ${integerOf(slot('firstLimit'))} end`
  return db
    .updateTable('queue')
    .set({ next_attempt_at: leastOf(slot('until'), limit), waits_for: slot('waitsFor'), leased: 0 })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('queue')
        .select('id')
        .where('node', '=', slot('node'))
        .where('workspace_id', '=', slot('workspaceId'))
        .where('domain', '=', slot('domain'))
        .where('priority', '=', slot('priority'))
        .where('held', '=', HOLD.none)
        .where('next_attempt_at', '<=', slot('now'))
        .where(limit, '>', slot('now'))
        .orderBy('next_attempt_at')
        .limit(slot('maxEntries')),
    )
})

/** Postpones a leased entry, whose attempt is no longer counted. */
export const postponeLease = prepareWrite<Postponement>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set((eb) => ({
      next_attempt_at: slot('until'),
      waits_for: slot('waitsFor'),
      leased: 0,
      attempts: eb('attempts', '-', 1),
    }))
    .where('id', '=', slot('id'))
    .where('node', '=', slot('node'))
    .where('leased', '=', 1),
)

/** Holds an entry for the operator, because another attempt could send it again and again. A release makes it due at once. */
export const holdForOperator = prepareWrite<{ id: string; why: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: HOLD.byOperator, leased: 0, last_response: slot('why'), next_attempt_at: slot('at') })
    .where('id', '=', slot('id')),
)

/** Removes a settled entry. */
export const removeEntry = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('queue').where('id', '=', slot('id')),
)

/** Milliseconds added for each attempt before the one that a crash interrupted. */
const CRASH_BACKOFF = 30_000

/**
 * Recovers entries of a node after a crash. An entry whose first attempt was interrupted is due at `at` again. Others are due
 * later the more attempts there were, so that an entry that kills the process cannot do so in a tight loop. The 1 is a
 * literal, because the index of leased entries is not used for a parameter.
 */
export const recoverLeases = prepareWrite<{ node: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set((eb) => ({
      leased: 0,
      next_attempt_at: eb(eb(eb.parens('attempts', '-', 1), '*', CRASH_BACKOFF), '+', slot('at')),
    }))
    .where('node', '=', slot('node'))
    .where('leased', '=', sql.lit(1)),
)

export const entryById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('queue').select(columns).where('id', '=', slot('id')),
)
