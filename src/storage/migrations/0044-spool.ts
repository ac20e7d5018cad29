/**
 * Places of large messages in spool files, and of those that were deleted and are still to be overwritten. Triggers
 * note the latter, in whatever way a row is deleted.
 */
import { runStatements } from '../migrate.js'

const noteHole = `insert or replace into spool_holes (file, at, bytes)
  values (old.spool_file, old.spool_at, old.spool_bytes);`

const spool = (table: string): string[] => [
  ...['spool_file', 'spool_at', 'spool_bytes'].map((column) => `alter table ${table} add column ${column} integer`),
  `create index ${table}_spooled on ${table} (spool_file, spool_at) where spool_file is not null`,
  `create trigger ${table}_leaves_spool after delete on ${table} when old.spool_file is not null begin ${noteHole} end`,
  `create trigger ${table}_drops_place after update of spool_file on ${table}
    when old.spool_file is not null and new.spool_file is null begin ${noteHole} end`,
]

export const up = runStatements([
  `create table spool_holes (
    file integer not null, at integer not null, bytes integer not null, primary key (file, at)) strict, without rowid`,
  ...spool('raw_messages'),
  ...spool('inbound_raw'),
])
