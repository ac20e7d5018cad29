/**
 * The states of a recipient, and the state of an email rolled up from them.
 *
 *   scheduled  waits for its time            queued     waits for an attempt, or is held
 *   sent       a next hop took it over       delivered  an MX of the recipient's domain took it
 *   bounced    refused for good, or expired after temporary refusals only
 *   failed     no server was ever reached, or the operator or the domain's end removed it
 *   suppressed never tried, the address is on the suppression list
 *   cancelled  called back while scheduled
 *
 * The roll-up is the first that any recipient is in, in the order below; `complained`
 * is set on an email by a complaint alone and is never rolled over.
 */
import type { EmailStatus, RecipientStatus } from '../storage/tables/email-tables.js'

const statusOrder: readonly RecipientStatus[] = [
  'queued',
  'scheduled',
  'delivered',
  'sent',
  'bounced',
  'failed',
  'cancelled',
  'suppressed',
]

/** The status of an email whose recipients are in `statuses`; `failed` where all are suppressed. */
export function rollUp(statuses: readonly RecipientStatus[]): EmailStatus {
  const first = statusOrder.find((status) => statuses.includes(status))
  return first === undefined || first === 'suppressed' ? 'failed' : first
}

/** For SQL: the rank of each status, and the status that each rank rolls up to. */
export const rollUpRanks: readonly { readonly status: RecipientStatus; readonly rolledUp: EmailStatus }[] =
  statusOrder.map((status) => ({ status, rolledUp: rollUp([status]) }))
