/**
 * Finds which tables other processes have changed. Each cache follows the tables that it reads, and is dropped when one
 * of them has changed.
 *
 * Triggers number the changes of these tables (`storage/schema/changes`), in the commit that makes them. Some acts on large
 * tables are numbered too, such as those that make mail due.
 */
import { type FollowedTable, followedSubjects, followedTables } from '../schema/changes.js'
import { prepareRead, prepareWrite, type Read } from './prepared.js'
import type { Write } from './write.js'

export type { FollowedTable } from '../schema/changes.js'

/** Holds rows of tables in memory until it is told that they have changed. */
export interface FollowsTables {
  /** All tables that it reads. */
  readonly follows: readonly FollowedTable[]
  /** Forgets all that it holds, and does not keep what is being read at this moment. */
  drop(): void
}

/** All that is numbered. */
const followed: readonly FollowedTable[] = [...followedTables, ...followedSubjects]

const addToNumber = prepareWrite<{ subject: FollowedTable }>(({ db, slot }) =>
  db
    .insertInto('changes')
    .values({ table_name: slot('subject'), number: 1 })
    .onConflict((conflict) =>
      conflict.columns(['table_name', 'slot']).doUpdateSet((eb) => ({ number: eb('changes.number', '+', 1) })),
    ),
)

/** Counts an act in the commit that makes it, so that other nodes see it. */
export function countChange(subject: (typeof followedSubjects)[number]): Write {
  return addToNumber({ subject })
}

/** Stands among the names of tables for the changes that all have taken note of: see `change-acknowledgement`. */
export const ACKNOWLEDGED = 'acknowledged'

const readNumbers = prepareRead<object>()(({ db }) => db.selectFrom('changes').select(['table_name', 'number', 'slot']))

/** Grows with each commit of another process that is numbered. */
export async function countForeignChanges(read: Read, ownSlots: readonly number[]): Promise<number> {
  const rows = await readNumbers(read, {})
  const foreign = rows.filter((row) => row.table_name !== ACKNOWLEDGED && !ownSlots.includes(row.slot))
  return foreign.reduce((sum, { number }) => sum + number, 0)
}

export class TableChanges {
  private seen: ReadonlyMap<string, number> = new Map()

  /** `ownSlots`: those in which this process writes, and no other. */
  constructor(
    private readonly read: Read,
    private readonly ownSlots: readonly number[],
  ) {}

  /**
   * Calls `act` with the tables that have changed since the last `act` that resolved, which may include changes of this
   * process if it shares its slot with others. Those are all tables in the first call, and while the numbers cannot be read; then it rejects afterwards.
   */
  async follow(act: (changed: ReadonlySet<FollowedTable>) => Promise<void>): Promise<void> {
    // They are read before anything is dropped: a change that comes in between is found by the next call.
    const [read] = await Promise.allSettled([readNumbers(this.read, {})])
    if (read.status === 'rejected') {
      await act(new Set(followed))
      throw read.reason
    }
    const numbers = new Map<string, number>()
    for (const { table_name: table, number, slot } of read.value)
      if (!this.ownSlots.includes(slot)) numbers.set(table, (numbers.get(table) ?? 0) + number)
    await act(new Set(followed.filter((table) => numbers.get(table) !== this.seen.get(table))))
    this.seen = numbers
  }
}

/** Drops the caches that hold rows of these tables. */
export function dropFollowers(caches: readonly FollowsTables[], changed: ReadonlySet<FollowedTable>): void {
  for (const cache of caches) if (cache.follows.some((table) => changed.has(table))) cache.drop()
}
