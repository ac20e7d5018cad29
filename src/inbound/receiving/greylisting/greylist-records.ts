/**
 * Stores what greylisting remembers beyond the process: at most 500,000 tuples that wait and 500,000 tuples and
 * networks that have passed; the oldest go. Keys are hashes, so no address can be read from them.
 */

import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { GreylistEntry } from './greylist-policy.js'

interface StoredEntry extends GreylistEntry {
  readonly key: string
}

/** Entries of each kind. */
const MAX_STORED = 500_000
/** Rows that one commit removes. */
const REMOVED_AT_ONCE = 1_000

const entryByKey = prepareRead<{ key: string }>()(({ db, slot }) =>
  db.selectFrom('greylist_entries').select(['first_at', 'seen_at', 'passes']).where('key', '=', slot('key')),
)

export async function readGreylistEntry(read: Read, key: string): Promise<GreylistEntry | undefined> {
  const [row] = await entryByKey(read, { key })
  return row === undefined ? undefined : { firstAt: row.first_at, seenAt: row.seen_at, passes: row.passes }
}

export const storeGreylistEntry = prepareWrite<StoredEntry>(({ db, slot }) =>
  db
    .insertInto('greylist_entries')
    .values({ key: slot('key'), first_at: slot('firstAt'), seen_at: slot('seenAt'), passes: slot('passes') })
    .onConflict((oc) =>
      oc.column('key').doUpdateSet((eb) => ({
        first_at: eb.ref('excluded.first_at'),
        seen_at: eb.ref('excluded.seen_at'),
        passes: eb.ref('excluded.passes'),
      })),
    ),
)

const totals = prepareRead<Record<never, never>>()(({ db }) =>
  db
    .selectFrom('greylist_totals')
    .select((eb) => ['kind', eb.fn.sum<number>('entries').as('entries')])
    .groupBy('kind'),
)

const removeWaiting = prepareWrite<{ limit: number; before: number }>(({ db, slot }) =>
  db.deleteFrom('greylist_entries').where('key', 'in', (eb) =>
    eb
      .selectFrom('greylist_entries')
      .select('key')
      // Literals, here and below, so that the partial indexes are used.
      .where('passes', '=', eb.lit(0))
      .where('seen_at', '<', slot('before'))
      .orderBy('seen_at')
      .limit(slot('limit')),
  ),
)

const removeKnown = prepareWrite<{ limit: number; before: number }>(({ db, slot }) =>
  db
    .deleteFrom('greylist_entries')
    .where('key', 'in', (eb) =>
      eb
        .selectFrom('greylist_entries')
        .select('key')
        .where('passes', '>', eb.lit(0))
        .where('seen_at', '<', slot('before'))
        .orderBy('seen_at')
        .limit(slot('limit')),
    ),
)

/** Removes the oldest entries beyond the limit, some at a time. */
export async function removeExcess(read: Read, max = MAX_STORED): Promise<Write[]> {
  return (await totals(read, {})).flatMap(({ kind, entries }) => {
    if (entries <= max) return []
    const limit = Math.min(entries - max, REMOVED_AT_ONCE)
    const oldest = { limit, before: Number.MAX_SAFE_INTEGER }
    return [kind === 'waiting' ? removeWaiting(oldest) : removeKnown(oldest)]
  })
}

const oldWaiting = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('greylist_entries')
    .select('key')
    .where((eb) => eb('passes', '=', eb.lit(0)))
    .where('seen_at', '<', slot('before'))
    .limit(slot('limit')),
)

const oldKnown = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('greylist_entries')
    .select('key')
    .where((eb) => eb('passes', '>', eb.lit(0)))
    .where('seen_at', '<', slot('before'))
    .limit(slot('limit')),
)

/** Removes some of what has expired; resolves to whether there may be more. */
export async function removeOldGreylistEntries(
  { read, commit }: Store,
  { waitingBefore, knownBefore }: { readonly waitingBefore: number; readonly knownBefore: number },
): Promise<boolean> {
  const limit = REMOVED_AT_ONCE
  const waiting = (await oldWaiting(read, { before: waitingBefore, limit })).length
  const known = (await oldKnown(read, { before: knownBefore, limit })).length
  if (waiting + known === 0) return false
  await commit([removeWaiting({ limit, before: waitingBefore }), removeKnown({ limit, before: knownBefore })])
  return waiting === limit || known === limit
}
