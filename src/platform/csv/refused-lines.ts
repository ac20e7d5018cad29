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
export interface RefusedSum {
  readonly refused: number
  /** The first of them. */
  readonly refusals: readonly RefusedLine[]
}

/** Lines that are told one by one. */
export const MAX_TOLD = 100

export class RefusedLines {
  private refusedCount = 0
  private readonly reported: RefusedLine[] = []

  /** Goes on from what was refused before. */
  static from({ refused, refusals }: RefusedSum): RefusedLines {
    const lines = new RefusedLines()
    lines.refusedCount = refused
    lines.reported.push(...refusals)
    return lines
  }

  add(line: RefusedLine): void {
    this.refusedCount += 1
    if (this.reported.length < MAX_TOLD) this.reported.push(line)
  }

  /** With these beside them. */
  with(more: readonly RefusedLine[]): RefusedSum {
    const room = MAX_TOLD - this.reported.length
    return { refused: this.refusedCount + more.length, refusals: [...this.reported, ...more.slice(0, room)] }
  }

  get count(): number {
    return this.refusedCount
  }

  get told(): readonly RefusedLine[] {
    return this.reported
  }
}
