/**
 * The rows of one type of export, read in small steps: no read lasts long, so none keeps the WAL from being copied
 * back. A row has the values of the moment in which its step was read.
 */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Timestamp } from '../../../base/storage/tables/columns.js'
import type { ExportsTable } from '../../../base/storage/tables/export-tables.js'

export type ExportRange = Pick<ExportsTable, 'workspace_id' | 'from_at' | 'to_at' | 'domain'>

interface ExportStep {
  /** Made while they are iterated. */
  readonly rows: Iterable<readonly string[]>
  /** Where the next step begins; null: this is the last one. */
  readonly cursor: string | null
  /** Thousandths of the range that are read after this step. */
  readonly progress: number
}

export interface ExportSource {
  readonly columns: readonly string[]
  /** `cursor`: null for the first step. */
  readonly readStep: (cursor: string | null) => ExportStep
}

/** The share of a range that lies before `at`, in thousandths. */
export function progressOf(at: number, from: number, to: number): number {
  if (to <= from) return 1_000
  return Math.max(0, Math.min(1_000, Math.floor(((at - from) / (to - from)) * 1_000)))
}

/** Empty for null. */
export function formatExportedTime(at: Timestamp | null): string {
  return at === null ? '' : formatTimestamp(at)
}
