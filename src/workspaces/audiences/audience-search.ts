/** Finds audiences by a part of their name or description. */
import { sql } from 'kysely'
import { prepareNameSearch } from '../../base/storage/db/name-search.js'

export const searchAudiences = prepareNameSearch({
  table: 'audiences',
  order: 'id',
  title: sql<string>`name`,
  note: sql<string | null>`description`,
  status: sql<string | null>`null`,
  compared: sql<string>`name || ' ' || coalesce(description, '')`,
})
