/** The tables of the circuit breaker. Part of `tables.ts`, which says what holds for all tables. */
import type { Slot, Timestamp } from './columns.js'

/** Mail is counted and held by one of these. */
export type BreakerScope = 'workspace' | 'domain' | 'broadcast'

/** Recipients by the quarter of an hour in which the outcome became known. */
export interface BreakerCountsTable {
  workspace_id: string
  scope: BreakerScope
  /** The workspace's id, the domain of the sender, or the broadcast's id. */
  subject: string
  /** When the quarter of an hour begins. */
  bucket: Timestamp
  /** Accepted by a server, or refused as `bounced`. */
  settled: number
  /** Refused permanently because the address is dead, also by a later report. */
  bounced: number
  /** Reported as spam. */
  complained: number
  slot: Slot
}

/** Scopes that are not ok. A row is removed when its scope is. */
export interface BreakerStatesTable {
  workspace_id: string
  scope: BreakerScope
  subject: string
  state: 'warning' | 'held'
  cause: 'bounces' | 'complaints'
  since: Timestamp
  /** The figures that led to the state. */
  messages: number
  failures: number
  /** The limit that they are over, in hundredths of a percent. */
  limit_hundredths: number
  /** The hold rule that holds the mail, or null if a warning, or a broadcast, which is paused. */
  hold_rule: string | null
}
