/**
 * A *queue entry* is one recipient of one message that is not settled: the outbound queue has one small row for each.
 *
 * A lease is a `next_attempt_at` in the future and a counted attempt, both written before the connection is made:
 * a killed process needs no cleanup of its leases, and a crash never makes us hammer a receiving host. A settled
 * entry leaves the table; its history is in `attempts`.
 */
import { type Selectable, sql } from 'kysely'
import type { DomainName } from '../../../base/mail/address.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Flag } from '../../../base/storage/tables/columns.js'
import type { Priority } from '../../../base/storage/tables/email-tables.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

/** Without the rule that holds it: what is attempted is not held. */
export type QueueEntry = Omit<Selectable<Tables['queue']>, 'hold_rule'>

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

export const insertEntry = prepareWrite<QueueEntry>(({ db, slots }) => db.insertInto('queue').values(slots(columns)))

interface Lease {
  readonly id: string
  /** The values that the entry had when it was read: the first to change one of them wins. */
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
      .where('attempts', '=', slot('attempts'))
      .where('next_attempt_at', '=', slot('dueAt'))
      .where('held', '=', HOLD.none),
  1,
)

/** Counts the attempt before it is made. Misses if the entry was changed since it was read. */
export function leaseEntry(lease: Lease): Write {
  return updateLease({ next: lease.attempts + 1, ...lease })
}

/** The entry waits until `at`. */
export const deferEntry = prepareWrite<{ id: string; at: number; noticed: Flag; lastResponse: string }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ next_attempt_at: slot('at'), leased: 0, noticed: slot('noticed'), last_response: slot('lastResponse') })
      .where('id', '=', slot('id')),
)

/** Returns a lease as if the attempt had not been counted: nothing was sent. */
export const releaseLease = prepareWrite<{ id: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set((eb) => ({ next_attempt_at: slot('at'), leased: 0, attempts: eb('attempts', '-', 1) }))
    .where('id', '=', slot('id'))
    .where('leased', '=', 1),
)

interface Postponement {
  readonly id: string
  readonly until: number
  readonly waitsFor: string
}

interface LanePostponement extends Omit<Postponement, 'id'> {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: 0 | 1 | 2
  readonly now: number
  /**
   * Age at which an entry is tried in any case: entries whose sender was not notified of a delay yet, and all
   * entries.
   */
  readonly firstLimit: number
  readonly lastLimit: number
  readonly maxEntries: number
}

/**
 * Postpones the due entries of one lane, oldest first, until `until` or until the limit of their age, whichever
 * comes first; those that have reached it stay due. No attempt is counted.
 */
export const postponeLane = prepareWrite<LanePostponement>(({ db, slot }) => {
  const limit = sql<number>`enqueued_at + case noticed when 1 then ${slot('lastLimit')} else ${slot('firstLimit')} end`
  return db
    .updateTable('queue')
    .set({ next_attempt_at: sql`min(${slot('until')}, ${limit})`, waits_for: slot('waitsFor'), leased: 0 })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('queue')
        .select('id')
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

/** A leased entry; its attempt is no longer counted. */
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
    .where('leased', '=', 1),
)

/** Held for the operator: another attempt could send it again and again. */
export const holdForOperator = prepareWrite<{ id: string; why: string }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: HOLD.byOperator, leased: 0, last_response: slot('why') })
    .where('id', '=', slot('id')),
)

/** The entry is settled. */
export const removeEntry = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('queue').where('id', '=', slot('id')),
)

/** Milliseconds added for each attempt before the one that a crash interrupted. */
const CRASH_BACKOFF = 30_000

/**
 * After a crash: an entry whose first attempt was interrupted is due at `at` again, others later the more attempts
 * there were, so that an entry that kills the process cannot do so in a tight loop. The 1 is a literal, because
 * the index of leased entries is not used for a parameter.
 */
export const recoverLeases = prepareWrite<{ at: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set((eb) => ({
      leased: 0,
      next_attempt_at: eb(eb(eb.parens('attempts', '-', 1), '*', CRASH_BACKOFF), '+', slot('at')),
    }))
    .where('leased', '=', sql.lit(1)),
)

export const entryById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('queue').select(columns).where('id', '=', slot('id')),
)
