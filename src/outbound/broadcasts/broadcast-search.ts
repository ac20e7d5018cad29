/** Finds broadcasts by a part of their name or subject. */
import { sql } from 'kysely'
import { prepareNameSearch } from '../../base/storage/db/name-search.js'

export const searchBroadcasts = prepareNameSearch({
  table: 'broadcasts',
  order: 'id',
  title: sql<string>`name`,
  note: sql<string | null>`subject`,
  status: sql<string | null>`status`,
  compared: sql<string>`name || ' ' || coalesce(subject, '')`,
})
