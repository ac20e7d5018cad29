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
  #count = 0
  readonly #told: RefusedLine[] = []

  /** Goes on from what was refused before. */
  static from({ refused, refusals }: RefusedSum): RefusedLines {
    const lines = new RefusedLines()
    lines.#count = refused
    lines.#told.push(...refusals)
    return lines
  }

  add(line: RefusedLine): void {
    this.#count += 1
    if (this.#told.length < MAX_TOLD) this.#told.push(line)
  }

  /** With these beside them. */
  with(more: readonly RefusedLine[]): RefusedSum {
    const room = MAX_TOLD - this.#told.length
    return { refused: this.#count + more.length, refusals: [...this.#told, ...more.slice(0, room)] }
  }

  get count(): number {
    return this.#count
  }

  get told(): readonly RefusedLine[] {
    return this.#told
  }
}
