/** The table of the warm-up. Part of `tables.ts`, which says what holds for all tables. */
import type { Flag, Timestamp } from './columns.js'

/** One new source address or domain at one provider. */
export interface WarmUpsTable {
  /** The workspace of the domain; `SERVICE_WORKSPACE` for a source address. */
  workspace_id: string
  /** A source address in its canonical form, or a domain. */
  subject: string
  /** One of `providerGroups`, or `*` if all of them, in a row that says that the operator has ended the warm-up. */
  provider: string
  /** Index into the plan. */
  step: number
  /** The day that is counted, in UTC and in days since 1970-01-01. */
  day: number
  /** Transactions of that day, and those of them that the provider deferred or refused because of us. */
  sent: number
  deferred: number
  /** Transactions that may have been made before a crash. They are never fewer than those that were. */
  reserved: number
  /** No cap applies any longer. */
  ended: Flag
  /** Each change of the operator raises it. Numbers that the daemon counted before it are not written. */
  revision: number
  updated_at: Timestamp
}
