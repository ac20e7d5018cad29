/** Finds entries whose lease has ended without an outcome of their attempt. Only a fault of this server leaves them. */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'

/** The most entries that are counted. */
const MAX_COUNTED = 1_000

/** The 1 is a literal, because the index of leased entries is not used for a parameter. */
const expiredLeases = prepareRead<{ node: string; now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select(['id', 'next_attempt_at'])
    .where('node', '=', slot('node'))
    .where('leased', '=', sql.lit(1))
    .where('next_attempt_at', '<=', slot('now'))
    .limit(slot('limit')),
)

interface ExpiredLeases {
  /** At most 1,000. */
  readonly count: number
  readonly oldestId: string | null
}

/** Finds those of one node. */
export async function readExpiredLeases(
  read: Read,
  { node, now }: { readonly node: string; readonly now: number },
): Promise<ExpiredLeases> {
  const rows = await expiredLeases(read, { node, now, limit: MAX_COUNTED })
  const oldest = rows.toSorted((one, other) => one.next_attempt_at - other.next_attempt_at)[0]
  return { count: rows.length, oldestId: oldest?.id ?? null }
}
