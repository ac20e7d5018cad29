/** Tables of verification codes sent by SMS. Part of `tables.ts`, which says what holds for all tables. */
import type { Json, JsonObject, Timestamp } from './columns.js'

/**
 * `sending`: the provider has not answered; the code is not valid yet. `pending`: valid, one per phone and workspace.
 * `replaced`: a newer code of this phone was sent. `void`: the provider refused the message or did not answer.
 */
export type SmsStatus = 'sending' | 'pending' | 'verified' | 'expired' | 'max_attempts' | 'replaced' | 'void'
/** What is known of the message. `sent`: the provider took it over. */
export type SmsDelivery = 'sending' | 'sent' | 'delivered' | 'failed'
export type SmsEncoding = 'gsm' | 'ucs2'
/**
 * `refused`, `silent`: the provider refused the message, or did not answer in time. `undelivered`: a receipt says so.
 * `interrupted`: the daemon ended while the provider was asked.
 */
export type SmsFault = 'refused' | 'silent' | 'undelivered' | 'interrupted'

export interface SmsCodesTable {
  /** A UUIDv7. */
  id: string
  workspace_id: string
  /** E.164, with the plus sign. */
  phone: string
  /** The country calling code and the three digits that follow. The rate of conversion is watched for each prefix. */
  prefix: string
  /** ISO 3166-1 alpha-2. */
  country: string
  status: SmsStatus
  salt: Uint8Array
  /** HMAC-SHA-256: `sms/code-hash.ts`. */
  code_hash: Uint8Array
  /** Wrong codes so far. */
  attempts: number
  metadata: Json<JsonObject> | null
  encoding: SmsEncoding
  segments: number
  /** The kind of provider: `smpp`, `http`, `log`. */
  provider: string
  delivery: SmsDelivery
  /** Why it failed. */
  reason: SmsFault | null
  created_at: Timestamp
  expires_at: Timestamp
  sent_at: Timestamp | null
  verified_at: Timestamp | null
  delivered_at: Timestamp | null
  failed_at: Timestamp | null
}

/** One segment of a message, or the entire message if the provider splits it. A receipt refers to it. */
export interface SmsPartsTable {
  sms_id: string
  /** Counted from 1. */
  part: number
  workspace_id: string
  provider: string
  /** The provider's own id. */
  message_id: string
  state: 'sent' | 'delivered' | 'failed'
}

/** A prefix to which a workspace sends no codes for a while, because too few were verified. */
export interface SmsHoldsTable {
  workspace_id: string
  prefix: string
  held_at: Timestamp
  until_at: Timestamp
  /** Codes sent, and verified among them, when it was held. */
  sent: number
  verified: number
  /** When the operator ended it early. */
  released_at: Timestamp | null
}
