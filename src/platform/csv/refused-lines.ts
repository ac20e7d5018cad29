/**
 * What was refused of a file: how many lines, and the first of them with their reasons. Files
 * may be wrong in a hundred thousand places; nobody reads more than some.
 */
export interface RefusedLine {
  readonly line: number
  /** The column at fault; null: the line as a whole. */
  readonly field: string | null
  readonly reason: string
  /** What was there, short and printable. */
  readonly value: string | null
}

/** As reports tell it. */
export interface RefusedSummary {
  readonly refused: number
  /** The first of them. */
  readonly refusals: readonly RefusedLine[]
}

/** Lines that are told one by one. */
export const MAX_LISTED = 100

export class RefusedLines {
  private refusedCount = 0
  private readonly reported: RefusedLine[] = []

  /** Goes on from what was refused before. */
  static fromSummary({ refused, refusals }: RefusedSummary): RefusedLines {
    const lines = new RefusedLines()
    lines.refusedCount = refused
    lines.reported.push(...refusals)
    return lines
  }

  add(line: RefusedLine): void {
    this.refusedCount += 1
    if (this.reported.length < MAX_LISTED) this.reported.push(line)
  }

  /** With these beside them. */
  toSummary(more: readonly RefusedLine[]): RefusedSummary {
    const room = MAX_LISTED - this.reported.length
    return { refused: this.refusedCount + more.length, refusals: [...this.reported, ...more.slice(0, room)] }
  }

  get count(): number {
    return this.refusedCount
  }

  get listedLines(): readonly RefusedLine[] {
    return this.reported
  }
}
