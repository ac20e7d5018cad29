/** Places of large messages in spool files, and of those that were deleted and are still to be overwritten. */

export const spool = [
  // Bytes of spool files that no row names any longer, and that the sweep is to overwrite.
  `create table spool_holes (
    file integer not null, at integer not null, bytes integer not null, primary key (file, at)) strict, without rowid`,
] as const

/** Tables whose rows may have their bytes in a spool file. */
const spooledTables = ['raw_messages', 'inbound_raw'] as const

const noteHole = `insert or replace into spool_holes (file, at, bytes)
  values (old.spool_file, old.spool_at, old.spool_bytes);`

/** Makes index and triggers of a table with the columns `spool_file`, `spool_at`, `spool_bytes` and `spool_crc`. */
export const spooled = (table: (typeof spooledTables)[number]): readonly string[] => [
  // Finds the rows of a spool file, and how many bytes they hold, without the rows of the table.
  `create index ${table}_spooled on ${table} (spool_file, spool_at, spool_bytes) where spool_file is not null`,
  // Notes a hole when a row is deleted, in whatever way.
  `create trigger ${table}_leaves_spool after delete on ${table} when old.spool_file is not null begin ${noteHole} end`,
  // Notes a hole when the bytes of a row are moved out of the spool file.
  `create trigger ${table}_drops_place after update of spool_file on ${table}
    when old.spool_file is not null and new.spool_file is null begin ${noteHole} end`,
]

/** All statements that serve spool files alone: an engine without these files leaves them out. */
export const onlyForSpool: readonly string[] = [...spool, ...spooledTables.flatMap((table) => spooled(table))]
