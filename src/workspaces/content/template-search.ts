/** Finds templates by a part of their name, alias or subject. */
import { sql } from 'kysely'
import { prepareNameSearch } from '../../base/storage/db/name-search.js'

export const searchTemplates = prepareNameSearch({
  table: 'templates',
  order: 'id',
  title: sql<string>`name`,
  note: sql<string | null>`alias`,
  status: sql<string | null>`null`,
  compared: sql<string>`name || ' ' || coalesce(alias, '') || ' ' || subject`,
})
