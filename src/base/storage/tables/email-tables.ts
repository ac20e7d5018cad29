/**
 * The tables of emails: the record, its bytes, recipients, queue, attempts, events. Part of
 * `tables.ts`, which says what holds for all tables.
 */
import type { Generated } from 'kysely'
import type { Address, DomainName } from '../../mail/address.js'
import type { Reason } from '../../mail/reasons.js'
import type { TlsRequired } from '../../mail/tls-required.js'
import type { Flag, Json, JsonObject, Slot, Timestamp } from './columns.js'
import type { Hold } from './hold.js'

type CommonStatus = 'scheduled' | 'queued' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'cancelled'
/** States of an email and of each of its recipients: see `records/messages/email/roll-up.ts`. */
export type RecipientStatus = CommonStatus | 'suppressed'
/** An email whose recipients are all suppressed has failed. */
export type EmailStatus = CommonStatus | 'complained'
export type Priority = 'high' | 'normal' | 'low'
type AttemptOutcome = 'delivered' | 'sent' | 'deferred' | 'bounced' | 'failed'

export interface Tag {
  readonly name: string
  readonly value: string
}

export interface EmailsTable {
  id: string
  workspace_id: string
  source: 'smtp' | 'rest' | 'service'
  message_id: string
  /** Envelope sender of the app. DSNs go there. Empty for `<>`. */
  envelope_from: Address | ''
  /** RFC 3461 ENVID (decoded) and RET of the submission. */
  envid: string | null
  ret: 'full' | 'headers' | null
  /** Header fields as the client gave them, for lists and answers. */
  from_email: Address
  from_name: string
  to_emails: Json<readonly string[]>
  cc_emails: Json<readonly string[]>
  bcc_emails: Json<readonly string[]>
  reply_to: Json<readonly string[]>
  subject: string
  tags: Json<readonly Tag[]>
  track_opens: Flag
  track_clicks: Flag
  /** Why the message went out without the tracking that it should have. Null if it has it, or should have none. */
  tracking_skipped: string | null
  /** Recipients other than the first have their own copies in `recipient_copies`. */
  has_copies: Flag
  priority: Priority
  /** Bytes of the message as stored. */
  size: number
  smtputf8: Flag
  /** What the sender requires of TLS. Null if it requires nothing. */
  tls_required: TlsRequired | null
  status: EmailStatus
  created_at: Timestamp
  scheduled_for: Timestamp | null
  sent_at: Timestamp | null
  delivered_at: Timestamp | null
  opened_at: Timestamp | null
  clicked_at: Timestamp | null
  bounced_at: Timestamp | null
  /** The API key that sent it. Null if a trusted network or the service itself did. */
  key_id: string | null
  template_id: string | null
  /** The domain of `from_email`. */
  from_domain: DomainName
  /** The broadcast that the message belongs to. Lists of emails leave it out. */
  broadcast_id: string | null
  /** How many recipients are in each state: see `records/messages/email/recipient-counts.ts`. */
  recipients_queued: Generated<number>
  recipients_sent: Generated<number>
  recipients_delivered: Generated<number>
  recipients_bounced: Generated<number>
  recipients_failed: Generated<number>
  recipients_suppressed: Generated<number>
  recipients_cancelled: Generated<number>
  recipients_complained: Generated<number>
}

/** Number of emails of a workspace in each status. Triggers on `emails` maintain it. */
export interface EmailCountsTable {
  workspace_id: string
  status: EmailStatus
  count: number
  /**
   * Emails that the list of this status has. It also has emails if one of their recipients bounced or failed. 0 for
   * other statuses.
   */
  listed: Generated<number>
  slot: Slot
}

export interface RawMessagesTable {
  email_id: string
  workspace_id: string
  created_at: Timestamp
  /** Header and body as sent, without our DKIM-Signature, or empty if they are in a spool file. */
  raw: Buffer
  spool_file: number | null
  spool_at: number | null
  spool_bytes: number | null
  /**
   * CRC-32 of the bytes as they were written to a spool file; it stays when they are folded. Null if they are not
   * checked.
   */
  spool_crc: number | null
}

export interface DkimSignaturesTable {
  email_id: string
  workspace_id: string
  created_at: Timestamp
  /** The complete header field with its CRLF; made once, at the first attempt. */
  field: string
}

export interface RecipientsTable {
  id: string
  email_id: string
  workspace_id: string
  address: Address
  domain: DomainName
  status: RecipientStatus
  /** RFC 3461 NOTIFY, as `SUCCESS,FAILURE`, or null if it was not given. */
  notify: string | null
  /** RFC 3461 ORCPT as given, `rfc822;…`. */
  orcpt: string | null
  attempts: Generated<number>
  last_response: string | null
  reason: Reason | null
  mx: string | null
  /** Session of the last attempt, at most 8 KB. */
  transcript: string | null
  created_at: Timestamp
  delivered_at: Timestamp | null
  settled_at: Timestamp | null
  /** Reported as spam; its status stays. */
  complained_at: Generated<Timestamp | null>
}

export interface QueueTable {
  /** The recipient's id. */
  id: string
  email_id: string
  workspace_id: string
  recipient: Address
  /** Domain of `recipient`. */
  domain: DomainName
  /** 0 high, 1 normal, 2 low. */
  priority: 0 | 1 | 2
  attempts: number
  enqueued_at: Timestamp
  /** In the future if the entry is not due, or leased. */
  next_attempt_at: Timestamp
  leased: Flag
  held: Hold
  /** A "delayed" DSN was sent. */
  noticed: Flag
  last_response: string | null
  /** The host that is not dialled before `next_attempt_at`, and why, or null if the entry waits for its time only. */
  waits_for: string | null
  broadcast_id: string | null
  /** The id of the rule that holds it. Null unless it is held by one. */
  hold_rule: string | null
  /** The node that delivers it: see `storage/db/node-state`. */
  node: Generated<string>
}

/** Rules of the operator: entries that match one are held as long as it lasts. */
export interface HoldRulesTable {
  id: string
  /** Whose mail it holds. `service` if it holds the mail of all workspaces and of the service itself. */
  workspace_id: string
  /** The domain of recipients. */
  domain: DomainName | null
  /** Address or domain of the From field, in lower case. */
  sender: string | null
  /** The pattern of recipients' addresses, in lower case; `*` stands for any characters. */
  pattern: string | null
  /** Null if it lasts until it is removed. */
  until: Timestamp | null
  created_at: Timestamp
  /** Its entries are being released; then the row is removed. */
  ending: Flag
  /** How far the walk over the entries that waited when it was made has come. Null if it is over. */
  cursor: string | null
  /** Why the circuit breaker made it. Null if the operator did. */
  reason: string | null
  /** A user. The rule holds all workspaces of this user besides its own. Null if it holds its own alone. */
  owner: string | null
}

export interface AttemptsTable {
  seq: Generated<number>
  workspace_id: string
  email_id: string
  recipient_id: string
  number: number
  at: Timestamp
  /** Milliseconds. */
  duration: number
  /** Host name of the MX, or of the route. Null if none was found. */
  mx: string | null
  address: string | null
  /** For example `TLSv1.3` or `TLSv1.3, verified by DANE`. Null if it was plain text. */
  tls: string | null
  /** A server answered. */
  reached: Flag
  outcome: AttemptOutcome
  reason: Reason | null
  /** The reply of the remote server, or what went wrong, at most 2 KB. */
  response: string
  next_attempt_at: Timestamp | null
}

export type EventType =
  | 'email.queued'
  | 'email.suppressed'
  | 'email.sent'
  | 'email.delivered'
  | 'email.deferred'
  | 'email.bounced'
  | 'email.failed'
  | 'email.complained'
  | 'email.opened'
  | 'email.clicked'
  | 'email.unsubscribed'
  | 'email.received'
  | 'domain.verified'
  | 'domain.failed'
  | 'sms.sent'
  | 'sms.delivered'
  | 'sms.failed'
  | 'sms.verified'
  | 'sending.warned'
  | 'sending.held'
  | 'sending.released'
  | 'service.check_failed'
  | 'service.check_recovered'

/**
 * Only our own code reads these; a subscriber never sees them. `domain.broken` says that DNS no longer has the expected
 * records; it is a warning while mail still goes out. `webhook.test` is delivered to the webhook that it tests.
 * `webhook.disabled` says that the service switched a webhook off. `sms.held` says that no codes are sent to numbers
 * with a prefix. `service.checks_failed` has what a notice tells the operator. `certificate.expiring`, in the
 * operator's workspace, says that a certificate of the service expires and was not renewed.
 */
export type InternalEventType =
  | 'invitation.created'
  | 'domain.broken'
  | 'webhook.test'
  | 'webhook.disabled'
  | 'sms.held'
  | 'service.checks_failed'
  | 'certificate.expiring'

export interface EventsTable {
  seq: Generated<number>
  id: string
  workspace_id: string
  type: EventType | InternalEventType
  email_id: string | null
  recipient: string | null
  created_at: Timestamp
  /** The event's payload. */
  data: Json<JsonObject>
  /** Who has written it: see `NodeState`. */
  slot: Generated<number>
}

export interface IdempotencyTable {
  workspace_id: string
  key: string
  /** SHA-256 of what the key was used for, hex. */
  fingerprint: string
  /** The email that a message submitted by SMTP became. */
  email_id: string | null
  /** The first answer to a request of the API, as JSON; of a request under way, what it says of the emails so far. */
  answer: string | null
  /** The emails of a request that are in the parts stored so far. Null if the request is complete. */
  progress: number | null
  created_at: Timestamp
}
