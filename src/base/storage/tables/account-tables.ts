/**
 * The tables of workspaces, people, API keys, limits and the audit log. Part of `tables.ts`, which
 * says what holds for all tables.
 */
import type { Generated } from 'kysely'
import type { Address } from '../../mail/address.js'
import type { Language } from '../../mail/language.js'
import type { Json, JsonObject, Slot, Timestamp } from './columns.js'

export type Role = 'owner' | 'admin' | 'member'
/** What an API key may do of what its member may: see `workspaces/accounts/access/permissions.ts`. */
export type Scope = 'full' | 'send' | 'read'

export interface WorkspacesTable {
  id: string
  name: string
  slug: string
  icon_url: string | null
  plan: string
  created_at: Timestamp
  /** The footer of broadcasts and the page on which recipients unsubscribe are in it. */
  language: Generated<Language>
  /** What the footer of broadcasts ends with, perhaps in several lines. */
  postal_address: Generated<string | null>
}

export interface UsersTable {
  id: string
  /** Lower case. */
  email: Address
  full_name: string
  avatar_url: string | null
  password_hash: string | null
  created_at: Timestamp
  /** The secret of the second factor (RFC 6238) in base32; a new one counts from `totp_enabled_at` on. */
  totp_secret: Generated<string | null>
  /** Null if there is no second factor. */
  totp_enabled_at: Generated<Timestamp | null>
  /** The time step of the newest code that was accepted. Each code counts once. */
  totp_last_step: Generated<number>
}

export interface MembersTable {
  id: string
  workspace_id: string
  user_id: string
  role: Role
  joined_at: Timestamp
}

export interface InvitationsTable {
  id: string
  workspace_id: string
  /** Lower case. */
  email: Address
  role: 'admin' | 'member'
  /** An address has at most one pending invitation in a workspace; an older one becomes `expired` when a new one replaces it. */
  status: 'pending' | 'accepted' | 'cancelled' | 'expired'
  /** The name of the inviter at that time. The account may be gone since. */
  invited_by_name: string
  invited_by_email: string
  /**
   * Id of the inviter: triggers cancel the inviter's pending invitations when the right to invite ends. Empty if it is
   * unknown.
   */
  invited_by: string
  created_at: Timestamp
  expires_at: Timestamp
}

export interface ApiKeysTable {
  id: string
  workspace_id: string
  user_id: string
  name: string
  /** SHA-256 of the complete key, in hex. */
  key_hash: string
  key_prefix: string
  scopes: Json<readonly Scope[]>
  /** CIDRs. Empty if every address is allowed. */
  allowed_networks: Json<readonly string[]>
  /** Domain names. Empty if all domains of the workspace are allowed. */
  allowed_domains: Json<readonly string[]>
  created_at: Timestamp
  expires_at: Timestamp | null
  last_used_at: Timestamp | null
  revoked_at: Timestamp | null
  /** The address that replaces senders that may not be used. Null if such messages are refused. */
  sender: Address | null
}

/** How much a workspace has used of its quotas, in buckets of time: see `accounts/limits/quota.ts`. */
export interface UsageTable {
  workspace_id: string
  kind: string
  /** Start of the bucket. */
  bucket: Timestamp
  count: number
  slot: Slot
}

/** Administrative acts: who did what to what. */
export interface AuditLogTable {
  seq: Generated<number>
  id: string
  workspace_id: string
  at: Timestamp
  /** Id of the user, `operator` for the command line, `service` for the daemon itself. */
  actor: string
  /** For example `api_key.created`. */
  action: string
  /** Id of the object of the act. */
  target: string
  /** Holds no secret. */
  details: Json<JsonObject>
}

/** Deleted workspaces whose last rows are still to be erased: see `base/storage/maintenance/erasure-runner`. */
export interface ErasuresTable {
  id: string
  asked_at: Timestamp
}
