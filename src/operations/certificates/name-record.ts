/** The record of the tries to get a certificate for a name. Times are epoch milliseconds. */

export interface NameRecord {
  /** Tries in a row that failed because of the name. */
  readonly failures: number
  /** Why the last try failed. Null if it did not. */
  readonly fault: string | null
  readonly triedAt: number | null
  /** There is no try before this time. 0 if there is no reason to wait. */
  readonly nextTryAt: number
  /** Orders and certificates that count for rate limits. */
  readonly orders: readonly number[]
  readonly issued: readonly number[]
}

export const newNameRecord: NameRecord = {
  failures: 0,
  fault: null,
  triedAt: null,
  nextTryAt: 0,
  orders: [],
  issued: [],
}
