/** The messages between the main thread and the thread of an export: `export-worker.ts`. */
import type { ExportFault } from '../../base/storage/tables/export-tables.js'
import type { ExportRow } from './export-records.js'

type Place = Pick<ExportRow, 'cursor' | 'rows' | 'bytes' | 'progress'>

export interface ExportJob
  extends Place,
    Pick<ExportRow, 'workspace_id' | 'type' | 'from_at' | 'to_at' | 'domain' | 'created_at'> {
  /** The path of the database. */
  readonly database: string
  /** The path of the CSV file. */
  readonly file: string
  /** Milliseconds between two reports. Undefined means a second. */
  readonly reportInterval?: number | undefined
}

/** The place up to which the file is on disk. */
export type ExportProgress = Place

export type ExportReport =
  /** The thread waits for an answer, whatever that is, before it continues. */
  | { readonly kind: 'progress'; readonly progress: ExportProgress }
  | { readonly kind: 'completed'; readonly rows: number; readonly bytes: number }
  | { readonly kind: 'failed'; readonly fault: ExportFault }
