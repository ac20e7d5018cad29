/** The record of the tries to get a certificate for a name. Times are epoch milliseconds. */
import { ownValueOf } from '../../base/platform/records.js'

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

/** A value that is missing or of another type has its first one. */
export function parseNameRecord(stored: unknown): NameRecord {
  const fault = ownValueOf(stored, 'fault')
  return {
    failures: numberOf(stored, 'failures') ?? 0,
    fault: typeof fault === 'string' ? fault : null,
    triedAt: numberOf(stored, 'triedAt'),
    nextTryAt: numberOf(stored, 'nextTryAt') ?? 0,
    orders: timesOf(stored, 'orders'),
    issued: timesOf(stored, 'issued'),
  }
}

function numberOf(stored: unknown, field: keyof NameRecord): number | null {
  const value = ownValueOf(stored, field)
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function timesOf(stored: unknown, field: keyof NameRecord): readonly number[] {
  const values = ownValueOf(stored, field)
  return Array.isArray(values) ? values.filter(Number.isFinite) : []
}
