/** Finds webhooks by a part of their URL. */
import { sql } from 'kysely'
import { prepareNameSearch } from '../../base/storage/db/name-search.js'

export const searchWebhooks = prepareNameSearch({
  table: 'webhooks',
  order: 'id',
  title: sql<string>`url`,
  note: sql<string | null>`null`,
  status: sql<string | null>`case enabled when 1 then 'enabled' else 'disabled' end`,
  compared: sql<string>`url`,
})
