/** The refused lines of an imported file: their number, and the first 100 with their reasons. */
export interface RefusedLine {
  readonly line: number
  /** The column at fault; null: the entire line. */
  readonly field: string | null
  readonly reason: string
  /** The value, short and printable. */
  readonly value: string | null
}

export interface RefusedSummary {
  readonly refused: number
  /** The first `MAX_LISTED` of them. */
  readonly refusals: readonly RefusedLine[]
}

export const MAX_LISTED = 100

export class RefusedLines {
  private refusedCount = 0
  private readonly reported: RefusedLine[] = []

  /** Continues an earlier count. */
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

  /** Together with `more`. */
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
