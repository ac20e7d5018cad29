/**
 * The shapes of the tables of audiences and their contacts. Part of `tables.ts`, which says
 * what holds for all of them.
 */
import type { Flag } from './email-tables.js'

export interface AudiencesTable {
  id: string
  workspace_id: string
  name: string
  description: string | null
  created_at: number
  updated_at: number
}

/** An address is in an audience once, and once among those of a workspace that are in none. */
export interface ContactsTable {
  id: string
  workspace_id: string
  /** Null: in none. */
  audience_id: string | null
  /** As it was given. */
  email: string
  /** The address in lower case: how contacts are told apart. */
  email_key: string
  first_name: string | null
  last_name: string | null
  subscribed: Flag
  /** JSON object. */
  metadata: string
  created_at: number
  updated_at: number
}

/** How many contacts there are in each list: kept by triggers on `contacts`. */
export interface ContactCountsTable {
  workspace_id: string
  /** Id of an audience, or `all`: those of the workspace. */
  list: string
  count: number
}

/** Audiences that were deleted and whose contacts are being removed. */
export interface AudienceRemovalsTable {
  audience_id: string
  workspace_id: string
  created_at: number
}
