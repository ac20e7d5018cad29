/** What a line of the log says of the recipients of a message: how many, and the first of them. */
import type { Address } from './address.js'

/** Recipients that a line names. */
const NAMED = 10

export interface RecipientFacts {
  readonly to: readonly Address[]
  /** All of them. */
  readonly recipients: number
}

export function recipientFacts(recipients: Iterable<Address>): RecipientFacts {
  const all = [...recipients]
  return { to: all.slice(0, NAMED), recipients: all.length }
}
