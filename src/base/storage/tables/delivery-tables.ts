/** The tables of delivery besides the queue. Part of `tables.ts`, which says what holds for all tables. */
import type { Json, Timestamp } from './columns.js'

/** MTA-STS policies of recipients' domains. They are public, and belong to no workspace. */
export interface StsPoliciesTable {
  domain: string
  /** The id in the TXT record that led to the policy. */
  policy_id: string
  mode: 'enforce' | 'testing' | 'none'
  patterns: Json<readonly string[]>
  /** Milliseconds after `fetched_at`. */
  max_age: number
  fetched_at: Timestamp
}
