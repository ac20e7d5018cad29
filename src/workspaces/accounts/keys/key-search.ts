/** Finds API keys by a part of their name, or of the beginning of the key that lists show. */
import { sql } from 'kysely'
import { prepareNameSearch } from '../../../base/storage/db/name-search.js'

export const searchKeys = prepareNameSearch({
  table: 'api_keys',
  order: 'creation',
  title: sql<string>`name`,
  note: sql<string | null>`key_prefix`,
  status: sql<string | null>`case when revoked_at is null then null else 'revoked' end`,
  compared: sql<string>`name || ' ' || key_prefix`,
})
