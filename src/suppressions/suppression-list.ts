/**
 * The suppression list, newest first, in pages.
 *
 * The order is that of the ids, which begin with the moment: it is total, and a row never
 * changes its place, so whoever pages through meets each row that is there all the while
 * exactly once, whatever others add or remove meanwhile. Of what is added meanwhile they
 * may meet what was added in the millisecond of their place.
 */

import { MAX_ID } from '../storage/paging.js'
import { prepareRead, type Read } from '../storage/prepared.js'
import type { SuppressionReason } from '../storage/tables/content-tables.js'
import type { Suppression } from './suppressions.js'

export interface SuppressionPage {
  readonly workspaceId: string
  /** Undefined: any. */
  readonly reason: SuppressionReason | undefined
  /** Rows that come after this id in the order; undefined: from the newest on. */
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

export function listSuppressions(read: Read, { workspaceId, reason, after, limit }: SuppressionPage): Suppression[] {
  const page = { workspaceId, before: after ?? MAX_ID, limit }
  return reason === undefined ? selectPage(read, page) : selectPageByReason(read, { ...page, reason })
}
