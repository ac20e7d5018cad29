/**
 * Finds a place in the event log by a time, without an index of times: `created_at` hardly decreases along `seq`, and
 * never by more than `maxDisorder`, so about thirty reads of one row each suffice.
 *
 * If the clock was ahead by more than a day, the events of that time break the order, and ranges near them may begin
 * too early or end too soon.
 */
import { maxDisorder } from '../../base/storage/db/commit-order.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

const eventAtOrAfter = prepareRead<{ seq: number }>()(({ db, slot }) =>
  db.selectFrom('events').select(['seq', 'created_at']).where('seq', '>=', slot('seq')).orderBy('seq').limit(1),
)

const eventAtOrBefore = prepareRead<{ seq: number }>()(({ db, slot }) =>
  db.selectFrom('events').select('seq').where('seq', '<=', slot('seq')).orderBy('seq', 'desc').limit(1),
)

const newestEvent = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('events').select('created_at').orderBy('seq', 'desc').limit(1),
)

/** Returns the time of the newest event of all workspaces, or null if there is none. */
export async function newestEventTime(read: Read): Promise<number | null> {
  return (await newestEvent(read, {}))[0]?.created_at ?? null
}

interface LogRange {
  /** The smallest `seq` in the log. */
  readonly first: number
  /** One above the greatest `seq` in the log. */
  readonly end: number
}

/** Finds the range of all workspaces. An empty log begins and ends at 0. */
async function findLogRange(read: Read): Promise<LogRange> {
  const [first] = await eventAtOrAfter(read, { seq: 0 })
  const [last] = await eventAtOrBefore(read, { seq: Number.MAX_SAFE_INTEGER })
  return { first: first?.seq ?? 0, end: (last?.seq ?? -1) + 1 }
}

interface TimeRange {
  /** Undefined begins with the oldest event. */
  readonly from?: number | undefined
  /** The first moment after the range. Undefined ends with the newest event. */
  readonly to?: number | undefined
}

/**
 * Finds a range of `seq` that has all events of all workspaces in a range of times. Where `created_at` may decrease, it
 * has some others too, near its ends: `isInTime` tells which.
 */
export async function findSeqRange(
  read: Read,
  { from, to }: TimeRange,
  disorder: number = maxDisorder(),
): Promise<LogRange> {
  const { first, end } = await findLogRange(read)
  return {
    first: from === undefined ? first : Math.max(first, await seqAtTime(read, from - disorder)),
    end: to === undefined ? end : await seqAtTime(read, to + disorder),
  }
}

export function isInTime({ from, to }: TimeRange, { created_at: at }: { readonly created_at: number }): boolean {
  return (from === undefined || at >= from) && (to === undefined || at < to)
}

/**
 * Returns the `seq` of an event of all workspaces at this time or later, where the one before it is earlier, or one above
 * the newest. It is the first event of that time where `created_at` never decreases.
 */
export async function seqAtTime(read: Read, time: number): Promise<number> {
  let { first: low, end: high } = await findLogRange(read)
  // Every event below `low` is earlier. The event at `high`, if there is one, is not.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const event = (await eventAtOrAfter(read, { seq: middle }))[0]
    if (event === undefined || event.created_at >= time) high = middle
    else low = event.seq + 1
  }
  return low
}
