/** The messages between the main thread and the thread of an export: `export-worker.ts`. */
import type { DatabasePlace } from '../../base/storage/db/database.js'
import type { ExportPiece } from './export-chunks.js'
import type { ExportRow } from './export-records.js'

/** The end of a step of the reading: what the file has until there. */
export type ExportProgress = Pick<ExportRow, 'cursor' | 'rows' | 'bytes' | 'progress'>

export interface ExportJob
  extends ExportProgress,
    Pick<ExportRow, 'workspace_id' | 'type' | 'from_at' | 'to_at' | 'domain' | 'broadcast_id' | 'outcome'> {
  readonly database: DatabasePlace
  /** Milliseconds between two reports of a file that grows slowly. Undefined means a second. */
  readonly reportInterval?: number | undefined
}

/** A piece of the file. The thread waits for an answer, whatever that is, before it continues. */
export interface PieceReport extends ExportPiece {
  readonly kind: 'piece'
  /** The last step that ends in the file with this piece. The bytes of the piece may go beyond it. */
  readonly progress: ExportProgress
}

/** The last piece of the file, which may be empty, and what the file has with it. */
export interface EndReport extends ExportPiece {
  readonly kind: 'end'
  readonly progress: ExportProgress
}

/** The thread has opened the database. */
interface OpenReport {
  readonly kind: 'open'
}

export type ExportReport = OpenReport | PieceReport | EndReport
