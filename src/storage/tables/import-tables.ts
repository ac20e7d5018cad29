/**
 * The shapes of the tables of imports that go on behind their request. Part of `tables.ts`, which
 * says what holds for all of them.
 */
import type { Generated } from 'kysely'

export type ImportKind = 'contacts' | 'suppressions'
export type ImportStatus = 'processing' | 'completed' | 'failed'

export interface ImportsTable {
  id: string
  workspace_id: string
  kind: ImportKind
  status: ImportStatus
  /** JSON object: what the request asked for (`imports/import-options.ts`). */
  options: string
  /** Rows of the file. */
  total: number
  /** Rows that are through. */
  done: number
  /** JSON object: the report on them; null: none is through. */
  report: string | null
  /** JSON object: why it failed. */
  error: string | null
  created_at: number
  finished_at: number | null
}

/** The file of an import that is not finished, in pieces. */
export interface ImportChunksTable {
  seq: Generated<number>
  workspace_id: string
  import_id: string
  place: number
  bytes: Buffer
}
