/**
 * The outbound queue: one small row per recipient that is not settled.
 *
 * A lease is only a `next_attempt_at` in the future and a counted attempt, both
 * written before the dial: a killed process loses its leases by doing nothing, and a
 * crash can never make us hammer a receiving host. A settled entry leaves the table;
 * its history is in `attempts`.
 */
import { type Selectable, sql } from 'kysely'
import type { DomainName } from '../../mail/address.js'
import { prepareRead, prepareWrite } from '../../storage/prepared.js'
import type { Flag } from '../../storage/tables/columns.js'
import type { Priority } from '../../storage/tables/email-tables.js'
import type { Tables } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'

export type QueueEntry = Selectable<Tables['queue']>

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
] as const satisfies readonly (keyof QueueEntry)[]

export const insertEntry = prepareWrite<QueueEntry>(({ db, slots }) => db.insertInto('queue').values(slots(columns)))

interface Lease {
  readonly id: string
  /** As they were when the entry was read: whoever changes one of them first has it. */
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
      .where('held', '=', 0),
  1,
)

/** Counts the attempt before it is made. Misses when the entry was changed since it was read. */
export function leaseEntry(wanted: Lease): Write {
  return updateLease({ next: wanted.attempts + 1, ...wanted })
}

/** The entry waits until `at`. */
export const deferEntry = prepareWrite<{ id: string; at: number; noticed: Flag; lastResponse: string }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ next_attempt_at: slot('at'), leased: 0, noticed: slot('noticed'), last_response: slot('lastResponse') })
      .where('id', '=', slot('id')),
)

/** Gives a lease back as if the attempt had not been counted: nothing was sent. */
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
  /** Age at which an entry is tried in any case: of which the sender was not told of a delay yet, and of any. */
  readonly firstLimit: number
  readonly lastLimit: number
  readonly most: number
}

/**
 * The due entries of one lane, oldest first: not tried before `until`, or before the limit of
 * their age where that comes first; those that have reached it stay due. No attempt is counted.
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
        .where('held', '=', 0)
        .where('next_attempt_at', '<=', slot('now'))
        .where(limit, '>', slot('now'))
        .orderBy('next_attempt_at')
        .limit(slot('most')),
    )
})

/** A leased entry, whose attempt is not counted any more. */
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

/** Tried no more until the operator has looked: trying again could send it again and again. */
export const holdForOperator = prepareWrite<{ id: string; why: string }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: 1, leased: 0, last_response: slot('why') })
    .where('id', '=', slot('id')),
)

/** The entry has reached its end. */
export const removeEntry = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('queue').where('id', '=', slot('id')),
)

/** Added for each attempt before the one that a crash cut off. */
const CRASH_BACKOFF = 30_000

/**
 * After a crash: an attempt that was cut off while it was the first is due at `at`
 * again, a later one the later the more of them there were, so that an entry that
 * kills the process cannot do so in a tight circle. A literal 1: an index that holds
 * the leased entries alone is not used for a parameter.
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
