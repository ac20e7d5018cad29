/**
 * The shapes of the tables of emails: the record, its bytes, recipients, queue, attempts.
 * Part of `tables.ts`, which says what holds for all of them.
 */
import type { Generated } from 'kysely'

export type Flag = 0 | 1

type CommonStatus = 'scheduled' | 'queued' | 'sent' | 'delivered' | 'bounced' | 'failed' | 'cancelled'
/** States of an email and of each of its recipients: see `messages/roll-up.ts`. */
export type RecipientStatus = CommonStatus | 'suppressed'
/** An email whose recipients are all suppressed has failed. */
export type EmailStatus = CommonStatus | 'complained'
export type Priority = 'high' | 'normal' | 'low'
export interface EmailsTable {
  id: string
  workspace_id: string
  /** How it came in. */
  source: 'smtp' | 'rest' | 'service'
  message_id: string
  /** Envelope sender of the app; empty for `<>`. DSNs go there. */
  envelope_from: string
  /** RFC 3461 ENVID (decoded) and RET of the submission. */
  envid: string | null
  ret: 'full' | 'headers' | null
  /** Header fields as the client gave them, for lists and answers. */
  from_email: string
  from_name: string
  to_emails: string
  cc_emails: string
  bcc_emails: string
  reply_to: string
  subject: string
  /** JSON list of {name, value}. */
  tags: string
  track_opens: Flag
  track_clicks: Flag
  priority: Priority
  /** Bytes of the message as stored. */
  size: number
  smtputf8: Flag
  status: EmailStatus
  created_at: number
  scheduled_for: number | null
  sent_at: number | null
  delivered_at: number | null
  opened_at: number | null
  clicked_at: number | null
  bounced_at: number | null
  /** The API key that sent it; null: a trusted network or the service itself. */
  key_id: string | null
  template_id: string | null
}

/** How many emails a workspace has in each status: kept by triggers on `emails`. */
export interface EmailCountsTable {
  workspace_id: string
  status: EmailStatus
  count: number
}

export interface RawMessagesTable {
  email_id: string
  workspace_id: string
  created_at: number
  /** Header and body as they go out, without our DKIM-Signature. */
  raw: Buffer
}

export interface DkimSignaturesTable {
  email_id: string
  workspace_id: string
  created_at: number
  /** The whole header field with its CRLF; made once, at the first attempt. */
  field: string
}

export interface RecipientsTable {
  id: string
  email_id: string
  workspace_id: string
  address: string
  domain: string
  status: RecipientStatus
  /** RFC 3461 NOTIFY, as `SUCCESS,FAILURE`; null: not given. */
  notify: string | null
  /** RFC 3461 ORCPT as given, `rfc822;…`. */
  orcpt: string | null
  attempts: Generated<number>
  last_response: string | null
  /** Machine word out of `messages/replies/reasons.ts`. */
  reason: string | null
  mx: string | null
  /** Session of the last attempt, at most 8 KB. */
  transcript: string | null
  created_at: number
  delivered_at: number | null
  settled_at: number | null
}

export interface QueueTable {
  /** The recipient's id. */
  id: string
  email_id: string
  workspace_id: string
  recipient: string
  /** Domain of `recipient`. */
  domain: string
  /** 0 high, 1 normal, 2 low. */
  priority: 0 | 1 | 2
  attempts: number
  enqueued_at: number
  /** In the future: not due, or leased. */
  next_attempt_at: number
  leased: Flag
  held: Flag
  /** A "delayed" DSN was sent. */
  noticed: Flag
  last_response: string | null
  /** The host that is not called until `next_attempt_at`, and why; null: the entry waits for its time alone. */
  waits_for: string | null
}

export interface AttemptsTable {
  seq: Generated<number>
  workspace_id: string
  email_id: string
  recipient_id: string
  number: number
  at: number
  /** Milliseconds. */
  duration: number
  /** Host name of the MX, or of the route; null when none was found. */
  mx: string | null
  address: string | null
  /** As `TLSv1.3`; null: plain text. */
  tls: string | null
  /** Some server answered. */
  reached: Flag
  outcome: 'delivered' | 'sent' | 'deferred' | 'bounced' | 'failed'
  reason: string | null
  /** What the remote said, or what went wrong, at most 2 KB. */
  response: string
  next_attempt_at: number | null
}
