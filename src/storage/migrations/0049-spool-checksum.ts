/**
 * The CRC-32 of a message that was written to a spool file. Null: it was stored in its row from the beginning, or by a
 * version before this one.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements(
  ['raw_messages', 'inbound_raw'].map((table) => `alter table ${table} add column spool_crc integer`),
)
