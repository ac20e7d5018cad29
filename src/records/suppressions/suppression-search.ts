/** Finds suppressed addresses that begin with a text, in the order of the addresses, in pages. */
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import type { Suppression } from './suppressions.js'

interface SuppressionSearch {
  readonly workspaceId: string
  /** The beginning of an address. Upper and lower case are equal. */
  readonly beginning: string
  /** Undefined for any reason. */
  readonly reason: SuppressionReason | undefined
  /** The page has addresses after this one. Undefined starts from the first. */
  readonly after: string | undefined
  readonly limit: number
}

interface PageQuery {
  workspaceId: string
  /** The addresses to find lie between these two. */
  from: string
  end: string
  limit: number
}

const selectPage = prepareLongRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email', '>=', slot('from'))
    .where('email', '<', slot('end'))
    .orderBy('email')
    .limit(slot('limit')),
)

const selectPageByReason = prepareLongRead<PageQuery & { reason: SuppressionReason }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('reason', '=', slot('reason'))
    // With two comparisons, SQLite would search the index of all addresses and skip those with other reasons.
    .where((eb) => eb.between('email', slot('from'), slot('end')))
    .orderBy('email')
    .limit(slot('limit')),
)

const selectLastByReason = prepareLongRead<PageQuery & { reason: SuppressionReason }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('reason', '=', slot('reason'))
    .where((eb) => eb.between('email', slot('from'), slot('end')))
    .orderBy('email', 'desc')
    .limit(slot('limit')),
)

/** A character that sorts after every character of an address. */
const LAST_CHARACTER = '\u{10ffff}'

export async function searchSuppressions(
  read: Read,
  { workspaceId, beginning, reason, after, limit }: SuppressionSearch,
): Promise<readonly Suppression[]> {
  const prefix = beginning.toLowerCase()
  // A space sorts before every character that a longer domain could continue with.
  const from = after === undefined || after < prefix ? prefix : `${after} `
  const page = { workspaceId, from, end: `${prefix}${LAST_CHARACTER}`, limit }
  return reason === undefined ? await selectPage(read, page) : await selectPageByReason(read, { ...page, reason })
}

interface BackwardSearch extends Omit<SuppressionSearch, 'after' | 'reason'> {
  readonly reason: SuppressionReason
  /** The page ends before this address. Undefined ends with the last. */
  readonly before: string | undefined
}

/** The page before an address, in the same order. */
export async function searchSuppressionsBefore(
  read: Read,
  { workspaceId, beginning, reason, before, limit }: BackwardSearch,
): Promise<readonly Suppression[]> {
  const from = beginning.toLowerCase()
  const last = `${from}${LAST_CHARACTER}`
  // The range includes its end. Databases compare bytes, in which the last character is behind all others.
  const isWithin = before !== undefined && Buffer.compare(Buffer.from(before), Buffer.from(last)) < 0
  const end = isWithin ? before : last
  const rows = await selectLastByReason(read, { workspaceId, reason, from, end, limit: limit + 1 })
  return rows
    .filter(({ email }) => email !== before)
    .slice(0, limit)
    .reverse()
}
