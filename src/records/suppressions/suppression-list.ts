/**
 * Lists suppressions, newest first, in pages.
 *
 * They are ordered by id, which begins with the time. The order is total and a row never moves, so a reader of all
 * pages gets each row that stays exactly once, whatever is added or removed during the reading. Of the rows that are
 * added during the reading, only those in the millisecond of the reader's position may appear.
 */
import { MAX_ID } from '../../base/storage/db/paging.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import type { Suppression } from './suppressions.js'

interface SuppressionPage {
  readonly workspaceId: string
  /** Undefined for any reason. */
  readonly reason: SuppressionReason | undefined
  /** The page has rows after this id in the order. Undefined starts from the newest. */
  readonly after: string | undefined
  readonly limit: number
}

interface PageQuery {
  workspaceId: string
  before: string
  limit: number
}

const selectPage = prepareRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const selectPageByReason = prepareRead<PageQuery & { reason: SuppressionReason }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('reason', '=', slot('reason'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

export async function listSuppressions(
  read: Read,
  { workspaceId, reason, after, limit }: SuppressionPage,
): Promise<Suppression[]> {
  const page = { workspaceId, before: after ?? MAX_ID, limit }
  return reason === undefined ? await selectPage(read, page) : await selectPageByReason(read, { ...page, reason })
}
