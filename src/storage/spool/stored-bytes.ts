/** The column of a message's bytes, as reads select it, wherever they are stored. */
import { type RawBuilder, sql } from 'kysely'

/** Fails with `LostBytes` where a spool file lacks them. */
export const storedBytes: RawBuilder<Buffer> = sql<Buffer>`case when spool_file is null then raw
  else spooled_bytes(spool_file, spool_at, spool_bytes) end`

/** Their number, without reading them. */
export const storedSize: RawBuilder<number> = sql<number>`coalesce(spool_bytes, length(raw))`
