/** One line of a message's log, and the order of the lines. */

export interface LogEntry {
  /** Milliseconds; null: it holds now. */
  readonly at: number | null
  /** A word of what happened: `accepted`, `attempt`, `webhook`. */
  readonly event: string
  /** One line for people. */
  readonly text: string
  /** For programs. */
  readonly details: Readonly<Record<string, unknown>>
}

/** By time; entries of one time stay in the order in which they were found, what holds now comes last. */
export function sortEntries(entries: readonly LogEntry[]): readonly LogEntry[] {
  return entries.toSorted((one, other) => (one.at ?? Number.MAX_SAFE_INTEGER) - (other.at ?? Number.MAX_SAFE_INTEGER))
}

export function entryOf(
  at: number | null,
  event: string,
  text: string,
  details: Readonly<Record<string, unknown>> = {},
): LogEntry {
  return { at, event, text, details }
}

/** Words of a list of parts that may be absent. */
export function joinParts(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== '').join(', ')
}
