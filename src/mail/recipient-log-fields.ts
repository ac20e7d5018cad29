/** What a line of the log says of the recipients of a message: how many, and the first of them. */
import type { Address } from './address.js'

/** Recipients that a line names. */
const MAX_NAMED_RECIPIENTS = 10

export interface RecipientLogFields {
  readonly to: readonly Address[]
  /** All of them. */
  readonly recipients: number
}

export function toRecipientLogFields(recipients: Iterable<Address>): RecipientLogFields {
  const all = [...recipients]
  return { to: all.slice(0, MAX_NAMED_RECIPIENTS), recipients: all.length }
}
