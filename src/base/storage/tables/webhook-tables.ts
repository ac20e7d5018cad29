/**
 * The tables of webhooks and their deliveries. Part of `tables.ts`, which says what holds for all tables.
 */
import type { Generated } from 'kysely'
import type { Flag, Json, Timestamp } from './columns.js'
import type { EventType } from './email-tables.js'

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/** The services whose requests a webhook can imitate, our own form, and `raw`: the message alone. */
export type WebhookFormat = 'posthorn' | 'resend' | 'postmark' | 'sendgrid' | 'mailgun' | 'raw'

/** How much of an inbound message goes with its event. */
export type WebhookContent = 'none' | 'parsed' | 'raw'

export interface WebhooksTable {
  /** `wh_` and a UUIDv7. */
  id: string
  workspace_id: string
  /** Without credentials. */
  url: string
  /** Types that are delivered. */
  events: Json<readonly EventType[]>
  enabled: Flag
  /** Why the service switched it off. Null if it did not. */
  disabled_reason: 'gone' | 'failing' | null
  /** `whsec_` and base64 of 32 bytes. It is stored in clear, because it signs. */
  secret: string
  previous_secret: string | null
  /** Until then both secrets sign `webhook-signature`. */
  previous_secret_until: Timestamp | null
  /** The newest event when it was made or enabled again: it begins behind it in every slot. */
  event_cursor: number
  /** The time from which every attempt failed, or null if the last one succeeded. */
  failing_since: Timestamp | null
  /** The last day on which a range was replayed, counted from 1970 in UTC, and how many events were replayed on it. */
  replay_day: number
  replayed: number
  created_at: Timestamp
  updated_at: Timestamp
  format: WebhookFormat
  content: WebhookContent
  /** Header fields that go with each request, by name. The values are secret. Null if there are none. */
  headers: Json<Readonly<Record<string, string>>> | null
  /** `user:password` of the URL, which goes with each request. Null if the URL had none. */
  login: string | null
  /** The key pair of the format `sendgrid`, in base64: SPKI and PKCS #8. Null before the webhook had this format. */
  verification_key: string | null
  verification_secret: string | null
}

/** A webhook and the events of one slot. */
export interface WebhookCursorsTable {
  webhook_id: string
  workspace_id: string
  slot: Generated<number>
  /**
   * Each event of the slot up to this `seq`, or up to the webhook's `event_cursor` if that is greater, is delivered or has a
   * row in `webhook_deliveries`.
   */
  seq: number
  /** The last attempt whose outcome the writer of the slot has stored, of whichever event. */
  last_status: DeliveryStatus | null
  last_at: Timestamp | null
  last_response_status: number | null
}

/** One event for one webhook, written after its first attempt, or before it for tests and replays. */
export interface WebhookDeliveriesTable {
  id: string
  workspace_id: string
  webhook_id: string
  event_seq: number
  event_id: string
  type: string
  status: DeliveryStatus
  attempts: number
  /** Null unless it is pending. */
  next_attempt_at: Timestamp | null
  response_status: number | null
  /** The body, at most 4 KB of it. */
  response_body: string | null
  /** Why there is no response. */
  error: string | null
  created_at: Timestamp
  delivered_at: Timestamp | null
  /** Who makes its next attempt: see `NodeState`. */
  node: Generated<string>
}

/** A request to deliver the events of a time range again, and how far it is. */
export interface WebhookReplaysTable {
  id: string
  workspace_id: string
  webhook_id: string
  types: Json<readonly EventType[]>
  /** The range of the log that is left. */
  next_seq: number
  last_seq: number
  created_at: Timestamp
  /** Who delivers them: see `NodeState`. */
  node: Generated<string>
}

/** Deleted webhooks whose deliveries are being removed. */
export interface WebhookRemovalsTable {
  webhook_id: string
  workspace_id: string
  created_at: Timestamp
}
