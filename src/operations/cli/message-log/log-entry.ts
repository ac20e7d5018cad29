/** One line of a message's log, and the order of the lines. */

export interface LogEntry {
  /** Milliseconds, or null if it holds now. */
  readonly at: number | null
  /** A word for the event, such as `accepted`, `attempt` or `webhook`. */
  readonly event: string
  /** One line for people. */
  readonly text: string
  /** Facts for programs. */
  readonly details: Readonly<Record<string, unknown>>
}

/** Sorts by time. Entries of one time stay in the order in which they were found, and the present state comes last. */
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
