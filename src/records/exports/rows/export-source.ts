/**
 * The rows of one type of export, read in small steps. No read lasts long, so none keeps the WAL from being copied
 * back. A row has the values of the moment in which its step was read.
 */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Timestamp } from '../../../base/storage/tables/columns.js'
import type { ExportsTable } from '../../../base/storage/tables/export-tables.js'

export type ExportRange = Pick<
  ExportsTable,
  'workspace_id' | 'from_at' | 'to_at' | 'domain' | 'broadcast_id' | 'outcome'
>

interface ExportStep {
  /** The rows are made while you iterate over them. */
  readonly rows: Iterable<readonly string[]> | AsyncIterable<readonly string[]>
  /** The place where the next step begins. Null if this is the last step. */
  readonly cursor: string | null
  /** The part of the range that is read after this step, in thousandths. */
  readonly progress: number
}

export interface ExportSource {
  readonly columns: readonly string[]
  /** `cursor` is null for the first step. */
  readonly readStep: (cursor: string | null) => Promise<ExportStep>
}

/** Returns the share of a range that lies before `at`, in thousandths. */
export function progressOf(at: number, from: number, to: number): number {
  if (to <= from) return 1_000
  return Math.max(0, Math.min(1_000, Math.floor(((at - from) / (to - from)) * 1_000)))
}

/** Returns an empty text for null. */
export function formatExportedTime(at: Timestamp | null): string {
  return at === null ? '' : formatTimestamp(at)
}
