/**
 * What an import of many rows leaves on disk as it goes: with each portion, in the portion's own
 * commit, how far it is. So a run that is cut off at any moment goes on behind the last portion
 * that is on disk, and no row is taken in twice.
 */
import type { Write } from './writer/write.js'

export interface ImportJournal<Report> {
  /** Where a run before has ended; null: this is the first. */
  readonly resumeFrom: { readonly rows: number; readonly report: Report } | null
  /**
   * For the commit that takes in the rows up to `rows`, with the report on all of them. They miss
   * where the import must not go on.
   */
  readonly recordProgress: (rows: number, report: Report) => readonly Write[]
  /** Throws where the import must not go on: asked before each portion, and again after each miss. */
  readonly assertMayContinue: () => void
}
