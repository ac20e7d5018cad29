/**
 * Milliseconds of the field Retry-After: seconds, or a date of HTTP (RFC 9110 section 10.2.3), which ends with GMT. Null: there
 * is none, or it is neither.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined || value.length > 40) return null
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000
  const at = value.endsWith(' GMT') ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
