/** The tables of exports. Part of `tables.ts`, which says what holds for all tables. */
import type { Generated } from 'kysely'
import type { DomainName } from '../../mail/address.js'
import type { RecipientOutcome } from './broadcast-tables.js'
import type { Timestamp } from './columns.js'

type ExportType = 'email_logs' | 'bounces' | 'suppressions' | 'opens' | 'broadcast_recipients'
type ExportStatus = 'processing' | 'completed' | 'failed'
/** `disk-full`: the disk has no room for the file. `internal`: the log tells more. */
export type ExportFault = 'disk-full' | 'internal'

/** Files of CSV that are written in the background: `exports/export-chunks.ts`. */
export interface ExportsTable {
  /** A UUIDv7. */
  id: string
  workspace_id: string
  type: ExportType
  status: ExportStatus
  /** The first moment inside. */
  from_at: Timestamp
  /** The first moment outside. */
  to_at: Timestamp
  /** Null if it is of all domains. */
  domain: DomainName | null
  /**
   * Where the reading goes on after the rows that are stored. Null if it begins at the start. The type decides its
   * form.
   */
  cursor: string | null
  /** Rows that are stored, without the column names. */
  rows: number
  /** Bytes of the file that are stored; what is behind them is written again. */
  bytes: number
  /** Thousandths of the range that are read. */
  progress: number
  /** Why it failed. */
  error: ExportFault | null
  created_at: Timestamp
  finished_at: Timestamp | null
  /** The broadcast whose recipients it has. Null for the other types. */
  broadcast_id: string | null
  /** The part of them that it has. Null if it has all. */
  outcome: RecipientOutcome | null
}

/** The file of an export, in pieces. */
export interface ExportChunksTable {
  seq: Generated<number>
  workspace_id: string
  export_id: string
  /** The number of bytes before this piece. */
  start_at: number
  bytes: Buffer
}
