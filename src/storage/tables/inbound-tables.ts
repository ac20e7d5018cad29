/**
 * The shapes of the tables of mail from outside. Part of `tables.ts`, which says what holds
 * for all of them.
 */
import type { Flag } from './email-tables.js'

export type InboundStatus = 'received' | 'processed' | 'failed'
export type SpamStatus = 'clean' | 'suspicious' | 'spam'

export interface InboundEmailsTable {
  id: string
  workspace_id: string
  /** `report`: it came to a return path, and speaks of mail that we sent; never listed. */
  kind: 'mail' | 'report'
  status: InboundStatus
  /** Of the first of `envelope_to`. */
  domain: string
  /** Empty for `<>`. */
  envelope_from: string
  /** JSON list: the recipients that belong to this workspace. */
  envelope_to: string
  client_address: string
  helo: string
  /** Folded: whatever is neither pass nor fail. The full words are in `authentication`. */
  spf_result: 'pass' | 'fail' | 'neutral'
  dkim_result: string
  dmarc_result: string
  /** JSON object. */
  authentication: string
  /** JSON object: an `Arrival` (`messages/inbound/inbound-email.ts`). */
  arrival: string
  /** From here on what the header says, empty until it was read. */
  message_id: string | null
  /** JSON list of message ids: its References, or its In-Reply-To. */
  reference_ids: string
  from_email: string
  /** The same in lower case: by it the list is filtered. */
  from_key: string
  from_name: string
  to_emails: string
  cc_emails: string
  subject: string
  has_html: Flag
  has_text: Flag
  attachment_count: number
  /** Bytes of the message as stored. */
  size: number
  spam_status: SpamStatus | null
  /** Hundredths of a point. */
  spam_score: number | null
  /** JSON list of {name, score, description}. */
  spam_report: string
  received_at: number
  processed_at: number | null
}

export interface InboundRawTable {
  inbound_id: string
  workspace_id: string
  received_at: number
  raw: Buffer
}

/** Bytes of mail that a workspace holds: a message counts its `size` while its row in `inbound_raw` is there. Kept by triggers. */
export interface InboundTotalsTable {
  workspace_id: string
  bytes: number
}

/** Addresses of a domain whose mail is refused though the domain takes mail: see `domains/verification/blocked-addresses.ts`. */
export interface BlockedAddressesTable {
  workspace_id: string
  domain_id: string
  /** As `localPartKey` makes it. */
  local_part: string
}
