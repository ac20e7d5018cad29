/**
 * When a scheduled message is released: an ISO 8601 date and time with an offset or
 * `Z`, at most 30 days ahead; in the past means now.
 */
import { shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'

export const MAX_AHEAD = 30 * 24 * 3_600_000

const form = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i

/** Epoch milliseconds, or null for now. */
export function releaseTime(text: string, now: number): number | null {
  const at = form.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) {
    throw new Refusal(
      'malformed-message',
      `scheduled_for: found "${shown(text)}", allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z`,
      { field: 'scheduled_for', value: text },
    )
  }
  if (at > now + MAX_AHEAD) {
    throw new Refusal('malformed-message', 'scheduled_for: at most 30 days ahead', {
      field: 'scheduled_for',
      value: text,
    })
  }
  return at <= now ? null : at
}
