/**
 * The tables of people's sessions in a browser. Part of `tables.ts`.
 *
 * They belong to users, who belong to no workspace; triggers remove the rows with their user.
 */
import type { Timestamp } from './columns.js'

export interface SessionsTable {
  /** `ses_` and a UUID. */
  id: string
  user_id: string
  /** SHA-256 of the token in the cookie, in hex. */
  token_hash: string
  created_at: Timestamp
  /** Written at most once a minute. */
  last_used_at: Timestamp
  expires_at: Timestamp
  /** The name that the browser gives itself, shortened. */
  user_agent: string
  ip_address: string
}

/** One-time links by which a user chooses a password. */
export interface PasswordLinksTable {
  /** SHA-256 of the token in the link, in hex. */
  token_hash: string
  user_id: string
  /** The command line prints `set`; `reset` is sent by mail. */
  purpose: 'set' | 'reset'
  created_at: Timestamp
  expires_at: Timestamp
  /** Null if it was not used yet. */
  used_at: Timestamp | null
}

/** Codes that stand in for the second factor, each once. */
export interface RecoveryCodesTable {
  user_id: string
  /** SHA-256 of the code, in hex. */
  code_hash: string
  used_at: Timestamp | null
}

/** Browsers in which users have signed in. */
export interface KnownBrowsersTable {
  user_id: string
  /** SHA-256 of the token in the browser's cookie, in hex. */
  token_hash: string
  /** The time of the last sign-in. */
  last_used_at: Timestamp
}
