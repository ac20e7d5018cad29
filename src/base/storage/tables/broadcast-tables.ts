/**
 * The tables of broadcasts. Part of `tables.ts`, which says what holds for all tables.
 */
import type { Address } from '../../mail/address.js'
import type { Flag, Json, Slot, Timestamp } from './columns.js'
import type { StoredBlocks } from './content-tables.js'

type BroadcastStatus = 'draft' | 'scheduled' | 'sending' | 'paused' | 'sent' | 'cancelled'

interface BroadcastSender {
  readonly address: Address
  readonly name: string
}

export interface BroadcastsTable {
  /** A UUIDv7. */
  id: string
  workspace_id: string
  name: string
  audience_id: string
  /** The From address. */
  sender: Json<BroadcastSender>
  reply_to: Json<readonly BroadcastSender[]>
  /** Null if the template's is used. Then both bodies are null too. */
  subject: string | null
  html: string | null
  text: string | null
  /** The document of which `html` was made. Null if the HTML was written. */
  blocks: Json<StoredBlocks> | null
  template_id: string | null
  status: BroadcastStatus
  scheduled_for: Timestamp | null
  started_at: Timestamp | null
  finished_at: Timestamp | null
  /** The API key that sent it. */
  key_id: string | null
  /** The last contact that was processed. Empty before the first. */
  cursor: string
  /** Contacts with ids that sort after it were added after the start. Empty until then. */
  ceiling: string
  /** All contacts were processed. */
  expanded: Flag
  /** A quota is used up: no messages are made before this time. */
  waits_until: Timestamp | null
  /** Why the service waits, or has paused it. Null if it has not. */
  note: string | null
  /** Grows with every change, so that of two concurrent changes one sees the other. */
  version: number
  created_at: Timestamp
  updated_at: Timestamp
  /** It goes only to contacts that got this broadcast and have neither opened it nor followed a link. */
  not_opened_of: string | null
}

/** The parts that all messages of a broadcast have in common: see `messages/frames/`. */
export interface BroadcastFramesTable {
  broadcast_id: string
  workspace_id: string
  created_at: Timestamp
  frame: Buffer
}

/** URLs without variables that the links of the broadcast lead to. They outlive it by `retention.links`. */
export interface BroadcastLinksTable {
  broadcast_id: string
  /** The name that `outbound/tracking/broadcast-links` gives the URL. */
  url_key: string
  url: string
  workspace_id: string
  created_at: Timestamp
}

/** What became of the message to a recipient: the counts of a broadcast have these names, or begin with `unique_`. */
export type RecipientOutcome =
  | 'queued'
  | 'sent'
  | 'delivered'
  | 'opened'
  | 'clicked'
  | 'bounced'
  | 'complained'
  | 'unsubscribed'
  | 'failed'
  | 'cancelled'

/** One for each recipient. It outlives the email by `retention.links`, because the unsubscribe link needs it. */
export interface BroadcastMessagesTable {
  /** `bc-` and a UUIDv7. */
  email_id: string
  recipient_id: string
  workspace_id: string
  broadcast_id: string
  contact_id: string
  address: Address
  /** What fills the frame, in the order of its slots. Null if it was removed with the bytes of other messages. */
  slots: Json<readonly string[]> | null
  created_at: Timestamp
  /** When its link was used last. Null if it was never used, or the unsubscription was undone. */
  unsubscribed_at: Timestamp | null
  /**
   * The contact that its link has unsubscribed. Null if there was none, it was unsubscribed already, or it was
   * subscribed again since.
   */
  unsubscribed_contact: string | null
}

/** Maintained by triggers on `emails` and `broadcast_messages`; nothing is subtracted when old emails are removed. */
export interface BroadcastCountsTable {
  broadcast_id: string
  workspace_id: string
  recipients: number
  scheduled: number
  queued: number
  sent: number
  delivered: number
  bounced: number
  failed: number
  cancelled: number
  complained: number
  unique_opens: number
  unique_clicks: number
  unsubscribed: number
  slot: Slot
}
