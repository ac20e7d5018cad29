/** The lines of a file that were refused: their number, the first of them with their reasons, and the reasons. */
export interface RefusedLine {
  readonly line: number
  /** The column at fault. Null if the entire line is. */
  readonly field: string | null
  readonly reason: string
  /** The value at fault, shortened and printable, or null if there is none. */
  readonly value: string | null
}

/** The refused lines that have the same reason. */
interface RefusalReason {
  readonly field: string | null
  readonly reason: string
  readonly count: number
  /** The first `MAX_REASON_LINES` of them. */
  readonly lines: readonly number[]
  /** The value of the first of them. */
  readonly value: string | null
}

/** The refused lines as reports of imports show them. */
export interface RefusedSummary {
  readonly refused: number
  /** The first `MAX_LISTED` of them. */
  readonly refusals: readonly RefusedLine[]
  /** The first `MAX_REASONS` reasons. */
  readonly refusal_reasons: readonly RefusalReason[]
}

/** Lines that a summary lists: a file may have a hundred thousand faults. */
export const MAX_LISTED = 100
/** Reasons that a summary counts. Some reasons name a character, so a file may have many. */
export const MAX_REASONS = 20
/** Lines that it lists for each reason. */
export const MAX_REASON_LINES = 5

export const noRefusedLines: RefusedSummary = { refused: 0, refusals: [], refusal_reasons: [] }

/** Copies no list if nothing is added to it. */
export function addRefusedLines(before: RefusedSummary, more: readonly RefusedLine[]): RefusedSummary {
  const { refused, refusals, refusal_reasons: reasons } = before
  const room = MAX_LISTED - refusals.length
  return {
    refused: refused + more.length,
    refusals: more.length === 0 || room <= 0 ? refusals : [...refusals, ...more.slice(0, room)],
    refusal_reasons: more.length === 0 ? reasons : addReasons(reasons, more),
  }
}

function addReasons(before: readonly RefusalReason[], more: readonly RefusedLine[]): readonly RefusalReason[] {
  const reasons = new Map(before.map((one) => [keyOf(one), one]))
  for (const { line, field, reason, value } of more) {
    const key = keyOf({ field, reason })
    const { count, lines, ...first } = reasons.get(key) ?? { field, reason, count: 0, lines: [], value }
    if (count === 0 && reasons.size >= MAX_REASONS) continue
    reasons.set(key, {
      ...first,
      count: count + 1,
      lines: lines.length >= MAX_REASON_LINES ? lines : [...lines, line],
    })
  }
  return [...reasons.values()]
}

function keyOf({ field, reason }: Pick<RefusedLine, 'field' | 'reason'>): string {
  return JSON.stringify([field, reason])
}
