/** Converts the days that reports are about: from midnight to midnight UTC (RFC 8460 section 4.1). */

/** Returns a text such as `2026-11-23`. Texts of days sort by time. */
export function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** Returns epoch milliseconds. */
export function startOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`)
}
