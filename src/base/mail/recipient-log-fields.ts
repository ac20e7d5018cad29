/** The log fields for the recipients of a message: their number, and the first of them. */
import type { Address } from './address.js'

/** Recipients that a log line lists. */
const MAX_NAMED_RECIPIENTS = 10

interface RecipientLogFields {
  readonly to: readonly Address[]
  /** Number of all recipients. */
  readonly recipients: number
}

export function toRecipientLogFields(recipients: Iterable<Address>): RecipientLogFields {
  const all = [...recipients]
  return { to: all.slice(0, MAX_NAMED_RECIPIENTS), recipients: all.length }
}
