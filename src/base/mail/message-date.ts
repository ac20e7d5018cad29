/** Formats the date-times of header fields (RFC 5322 section 3.3), always in UTC. */

/** Epoch milliseconds as `Sat, 21 Nov 2026 01:02:03 +0000`. */
export function formatMessageDate(at: number): string {
  return new Date(at).toUTCString().replace('GMT', '+0000')
}

/** Epoch milliseconds of a Date field or of the date of a Received field, ignoring comments. Null if it is no date. */
export function parseMessageDate(value: string): number | null {
  const at = Date.parse(
    value
      .slice(0, 500)
      .replace(/\([^()]*\)/g, '')
      .trim(),
  )
  return Number.isNaN(at) ? null : at
}
