/**
 * The progress of a long import, stored with each portion of rows in that portion's commit: an import that is
 * interrupted at any moment resumes after the last portion on disk, and no row is imported twice.
 */
import type { Write } from './writer/write.js'

export interface ImportJournal<Report> {
  /** Where the previous run ended; null: this is the first. */
  readonly resumeFrom: { readonly rows: number; readonly report: Report } | null
  /**
   * Writes for the commit that imports the rows up to `rows`; `report` covers all of them. They miss if
   * the import must not continue.
   */
  readonly recordProgress: (rows: number, report: Report) => readonly Write[]
  /** Throws if the import must not continue. Called before each portion and after each miss. */
  readonly assertMayContinue: () => void
}
