/**
 * The shapes of the tables of people who were invited, and of workspaces that are gone.
 * Part of `tables.ts`, which says what holds for all of them.
 */

export interface InvitationsTable {
  id: string
  workspace_id: string
  /** Lower case. */
  email: string
  role: 'admin' | 'member'
  /** One of an address may be pending in a workspace; `expired` is written when another takes its place. */
  status: 'pending' | 'accepted' | 'cancelled' | 'expired'
  /** Who invited, as they were called then: they may be gone by now. */
  invited_by_name: string
  invited_by_email: string
  /** Id of that user: when they may no longer invite, triggers cancel what is pending of theirs. Empty: not known. */
  invited_by: string
  created_at: number
  expires_at: number
}

/** Workspaces whose last rows are still to be erased: see `storage/maintenance/erasure-runner.ts`. */
export interface ErasuresTable {
  id: string
  asked_at: number
}
