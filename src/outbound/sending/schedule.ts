/**
 * Parses the release time of a scheduled message: an ISO 8601 date and time with an offset or `Z`, at most 30 days
 * ahead. A time in the past means now.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'

const MAX_AHEAD = 30 * 24 * 3_600_000

const isoPattern = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i

/** Converts ISO 8601 with an offset or `Z` to epoch milliseconds. Returns null for other text, such as 30 February. */
export function parseTimestamp(text: string): number | null {
  const at = Date.parse(text)
  const [, day] = isoPattern.exec(text) ?? []
  if (day === undefined || Number.isNaN(at)) return null
  // Date.parse reads 30 February as 2 March, so the result is compared with the text.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? at : null
}

/** Returns epoch milliseconds, or null for now. `field` is the field that the refusal names. */
export function parseReleaseTime(text: string, now: number, field = 'scheduled_for'): number | null {
  const at = parseTimestamp(text)
  if (at === null) {
    throw new Refusal(
      'malformed-message',
      `${field}: found "${formatForDisplay(text)}", allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z`,
      { field, value: formatForDisplay(text) },
    )
  }
  if (at > now + MAX_AHEAD) {
    const message = `${field}: found "${formatForDisplay(text)}", allowed: at most 30 days ahead`
    throw new Refusal('malformed-message', message, { field, value: formatForDisplay(text) })
  }
  return at <= now ? null : at
}
