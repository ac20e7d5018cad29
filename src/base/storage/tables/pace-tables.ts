/** The table of the paces of providers. Part of `tables.ts`, which says what holds for all tables. */
import type { Flag, Timestamp } from './columns.js'

/** The rows belong to the installation, and to no workspace. A provider that has never refused anything for its pace has no row. */
export interface ProviderPacesTable {
  /** An id of the known providers, the registrable domain of the MX hosts, or the host and port of a route. */
  provider: string
  /** One of our addresses. Empty if the system chooses it. */
  source: string
  /** Null if there is no limit. */
  sessions: number | null
  ceiling: number | null
  ceiling_at: Timestamp
  /** The messages of one session. Null if none was learned. */
  messages: number | null
  messages_at: Timestamp | null
  /** Messages in 1,000 seconds, or null if no limit is known. */
  rate: number | null
  rate_refused_at: Timestamp
  pause_kind: 'rate' | 'block' | null
  pause_reply: string | null
  pause_since: Timestamp | null
  pause_until: Timestamp | null
  /** Messages that were refused since it began. */
  pause_probes: number | null
  updated_at: Timestamp
  /** The operator wants it to be forgotten. */
  reset: Flag
}
