/** The messages between the main thread and the thread of an export: `export-worker.ts`. */
import type { ExportFault } from '../../base/storage/tables/export-tables.js'
import type { ExportRow } from './export-records.js'

type Place = Pick<ExportRow, 'cursor' | 'rows' | 'bytes' | 'progress'>

export interface ExportJob
  extends Place,
    Pick<ExportRow, 'workspace_id' | 'type' | 'from_at' | 'to_at' | 'domain' | 'created_at'> {
  /** The database. */
  readonly database: string
  /** Where the CSV goes. */
  readonly file: string
  /** Milliseconds between two reports; undefined: a second. */
  readonly reportInterval?: number | undefined
}

/** What is on disk. */
export type ExportProgress = Place

export type ExportReport =
  /** The thread waits for an answer, whatever it is, before it goes on. */
  | { readonly kind: 'progress'; readonly progress: ExportProgress }
  | { readonly kind: 'completed'; readonly rows: number; readonly bytes: number }
  | { readonly kind: 'failed'; readonly fault: ExportFault }
