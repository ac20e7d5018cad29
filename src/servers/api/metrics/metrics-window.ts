/** The stretch of time in the query of metrics: `days` up to now, or `from` and `to`. */
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { DAY } from '../../../base/platform/time-units.js'
import { MAX_DAYS, toWindow, type Window } from '../../../records/metrics/window.js'
import type { FieldError } from '../http/input/parse-input.js'
import { moment, wholeNumber } from '../http/input/values.js'

const DEFAULT_DAYS = 30

export const windowFields = {
  days: wholeNumber(1, MAX_DAYS)
    .optional()
    .meta({ description: `How many days up to now, without \`from\` and \`to\`. Default ${DEFAULT_DAYS}.` }),
  from: moment.optional().meta({
    description: `Emails that were made at this moment or later, in the years 1970 to 9998. Default: ${DEFAULT_DAYS} days before \`to\`.`,
  }),
  to: moment.optional().meta({
    description: `Emails that were made before this moment, at most ${MAX_DAYS} days after \`from\`. Default: now.`,
  }),
}

interface WindowQuery {
  readonly days?: number | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** Throws a Refusal that names the field at fault. */
export function windowOf({ days, from, to }: WindowQuery, now: number): Window {
  if (days !== undefined && (from !== undefined || to !== undefined)) {
    throw refusalOf({ field: 'days', message: 'cannot be combined with from and to', value: days })
  }
  checkYear('from', from)
  checkYear('to', to)
  const end = to ?? now
  const start = from ?? end - (days ?? DEFAULT_DAYS) * DAY
  if (start >= end && to !== undefined) {
    throw refusalOf({ field: 'to', message: 'must be later than from', value: formatTimestamp(to) })
  }
  const value = formatTimestamp(start)
  if (start >= end) throw refusalOf({ field: 'from', message: 'must be in the past where to is not given', value })
  if (end - start <= MAX_DAYS * DAY) return toWindow(start, end)
  const limit = to === undefined ? 'ago where to is not given' : 'before to'
  throw refusalOf({ field: 'from', message: `must be at most ${MAX_DAYS} days ${limit}`, value })
}

/** Years with four digits, in every time zone and with the window rounded outward. */
const [MIN_MOMENT, MAX_MOMENT] = [Date.UTC(1970, 0), Date.UTC(9999, 0)]

function checkYear(field: 'from' | 'to', at: number | undefined): void {
  if (at === undefined || (at >= MIN_MOMENT && at < MAX_MOMENT)) return
  throw refusalOf({ field, message: 'must be in the years 1970 to 9998', value: formatTimestamp(at) })
}

function refusalOf(error: FieldError): Refusal {
  return new Refusal('invalid-parameter', `${error.field}: ${error.message}`, { errors: [error] })
}
