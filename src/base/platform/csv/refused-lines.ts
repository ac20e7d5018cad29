/** The lines of a file that were refused: their number, and the first of them with their reasons. */
export interface RefusedLine {
  readonly line: number
  /** The column at fault. Null if the entire line is. */
  readonly field: string | null
  readonly reason: string
  /** The value at fault, shortened and printable, or null if there is none. */
  readonly value: string | null
}

/** The refused lines as reports of imports show them. */
export interface RefusedSummary {
  readonly refused: number
  /** The first `MAX_LISTED` of them. */
  readonly refusals: readonly RefusedLine[]
}

/** Lines that a summary lists: a file may have a hundred thousand faults. */
export const MAX_LISTED = 100

/** Copies no list if the summary has all lines that it lists. */
export function addRefusedLines({ refused, refusals }: RefusedSummary, more: readonly RefusedLine[]): RefusedSummary {
  if (more.length === 0 || refusals.length >= MAX_LISTED) return { refused: refused + more.length, refusals }
  return { refused: refused + more.length, refusals: [...refusals, ...more.slice(0, MAX_LISTED - refusals.length)] }
}
