/**
 * The deliveries of a webhook, newest first, in pages.
 *
 * They are ordered by id, which begins with the time of creation. The few pending or failed deliveries have separate
 * indexes. We pick those that were delivered out of all, in steps.
 */
import { sql } from 'kysely'
import { MAX_ID } from '../../base/storage/db/paging.js'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { DeliveryStatus, WebhookDeliveriesTable } from '../../base/storage/tables/webhook-tables.js'
import type { WebhookRef } from './webhook-records.js'

export type ListedDelivery = Omit<WebhookDeliveriesTable, 'node'>

interface DeliveryPage {
  readonly webhook: WebhookRef
  /** Undefined means any status. */
  readonly status: DeliveryStatus | undefined
  /** The page has deliveries after this id in the order. Undefined begins with the newest. */
  readonly after: string | undefined
  readonly limit: number
}

type PageQuery = WebhookRef & { readonly before: string; readonly limit: number }

const selectPage = prepareLongRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', slot('id'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const selectPending = prepareLongRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', slot('id'))
    // SQLite uses the partial index only for a literal.
    .where(sql<boolean>`status = 'pending'`)
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const selectFailed = prepareLongRead<PageQuery>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', slot('id'))
    .where(sql<boolean>`status = 'failed'`)
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

/** The caller checks that the webhook belongs to the workspace. */
export async function listDeliveries(read: Read, page: DeliveryPage): Promise<readonly ListedDelivery[]> {
  const { webhook, status, after, limit } = page
  const query = { ...webhook, before: after ?? MAX_ID, limit }
  switch (status) {
    case undefined:
      return selectPage(read, query)
    case 'pending':
      return selectPending(read, query)
    case 'failed':
      return selectFailed(read, query)
    case 'delivered':
      return pickDelivered(read, query)
  }
}

async function pickDelivered(read: Read, query: PageQuery): Promise<readonly ListedDelivery[]> {
  const found: ListedDelivery[] = []
  let { before } = query
  for (;;) {
    const rows = await selectPage(read, { ...query, before, limit: ROW_STEP })
    found.push(...rows.filter(({ status }) => status === 'delivered'))
    const last = rows[ROW_STEP - 1]
    if (last === undefined || found.length >= query.limit) return found.slice(0, query.limit)
    before = last.id
    await waitForStep()
  }
}
