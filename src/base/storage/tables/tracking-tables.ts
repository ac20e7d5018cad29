/**
 * The tables of tracked links, of copies of a message for single recipients, and of unsubscribe links. Part of `tables.ts`,
 * which says what holds for all tables.
 */
import type { Address } from '../../mail/address.js'
import type { Json, Timestamp } from './columns.js'

/** One for each distinct URL of a tracked message; it outlives the message by `retention.links`. */
export interface LinksTable {
  /** Time and 128 random bits: see `tracking/link-id.ts`. */
  id: string
  workspace_id: string
  email_id: string
  /** The URL that a click leads to. */
  url: string
  created_at: Timestamp
  /** Clicks, without those of machines. */
  clicks: number
  first_clicked_at: Timestamp | null
  last_clicked_at: Timestamp | null
}

/** What rewriting replaced in the HTML of an email, in the order of the places: see `tracking/restore-html.ts`. */
export interface HtmlEditsTable {
  email_id: string
  workspace_id: string
  created_at: Timestamp
  edits: Json<readonly string[]>
}

/**
 * The message of one recipient where recipients get different bytes: the first `prefix` and the last `suffix` bytes
 * of the email's raw message with `bytes` between them. The first recipient has no row: the raw message is its own.
 */
export interface RecipientCopiesTable {
  recipient_id: string
  email_id: string
  workspace_id: string
  created_at: Timestamp
  prefix: number
  suffix: number
  bytes: Buffer
  /** The DKIM-Signature field of this copy, made once, at the first attempt. */
  signature: string | null
}

/** One for each recipient of an email with an unsubscribe link; it outlives the email by `retention.links`. */
export interface UnsubscribeLinksTable {
  /** The link's token is made from it. */
  recipient_id: string
  workspace_id: string
  email_id: string
  address: Address
  /** The first From address. */
  sender: Address
  created_at: Timestamp
  /** When the link was first used. */
  unsubscribed_at: Timestamp | null
}
