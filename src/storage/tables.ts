/**
 * The shape of every table, for Kysely. The truth is in `migrations/`; a test holds
 * the two against each other.
 *
 * Every row that belongs to a workspace bears `workspace_id`; the service's own mail
 * and keys bear `SERVICE`. Times are epoch milliseconds, ids text, booleans 0/1, lists
 * and objects JSON text.
 */
import type { Generated } from 'kysely'

/** Stands where a workspace id stands, for what belongs to the service itself. No workspace can have it. */
export const SERVICE = 'service'

export type Flag = 0 | 1

/** States of an email and of each of its recipients: see `messages/states.ts`. */
export type RecipientStatus =
  | 'scheduled'
  | 'queued'
  | 'sent'
  | 'delivered'
  | 'bounced'
  | 'failed'
  | 'suppressed'
  | 'cancelled'
export type EmailStatus = RecipientStatus | 'complained'
export type Priority = 'high' | 'normal' | 'low'
export type Role = 'owner' | 'admin' | 'member'

interface WorkspacesTable {
  id: string
  name: string
  slug: string
  icon_url: string | null
  plan: string
  created_at: number
}

interface UsersTable {
  id: string
  email: string
  full_name: string
  avatar_url: string | null
  password_hash: string | null
  created_at: number
}

interface MembersTable {
  id: string
  workspace_id: string
  user_id: string
  role: Role
  joined_at: number
}

interface ApiKeysTable {
  id: string
  workspace_id: string
  user_id: string
  name: string
  /** SHA-256 of the whole key, hex. */
  key_hash: string
  key_prefix: string
  /** JSON list of scopes. */
  scopes: string
  /** JSON list of CIDRs; empty: from anywhere. */
  allowed_networks: string
  /** JSON list of domain names; empty: any of the workspace. */
  allowed_domains: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

interface DomainsTable {
  id: string
  workspace_id: string
  domain: string
  status: 'pending' | 'verified' | 'failed'
  /** Verified by the operator's word, without DNS. */
  forced: Flag
  inbound: Flag
  track_opens: Flag
  track_clicks: Flag
  created_at: number
  verified_at: number | null
}

interface DkimKeysTable {
  id: string
  workspace_id: string
  /** The signing domain. */
  domain: string
  selector: string
  /** PKCS#8 PEM. */
  private_key: string
  /** The TXT record's value: `v=DKIM1; k=rsa; p=…`. */
  public_record: string
  /** At most one key of a domain and workspace signs. */
  signing: Flag
  created_at: number
}

interface EmailsTable {
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
}

interface RawMessagesTable {
  email_id: string
  workspace_id: string
  created_at: number
  /** Header and body as they go out, without our DKIM-Signature. */
  raw: Buffer
}

interface DkimSignaturesTable {
  email_id: string
  workspace_id: string
  created_at: number
  /** The whole header field with its CRLF; made once, at the first attempt. */
  field: string
}

interface RecipientsTable {
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
  /** Machine word out of `delivery/reasons.ts`. */
  reason: string | null
  mx: string | null
  /** Session of the last attempt, at most 8 KB. */
  transcript: string | null
  created_at: number
  delivered_at: number | null
  settled_at: number | null
}

interface QueueTable {
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
}

interface AttemptsTable {
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

interface EventsTable {
  seq: Generated<number>
  id: string
  workspace_id: string
  type: string
  email_id: string | null
  recipient: string | null
  created_at: number
  /** JSON: the event's `data`. */
  data: string
}

interface SuppressionsTable {
  id: string
  workspace_id: string
  /** Lower case. */
  email: string
  reason: 'hard_bounce' | 'spam_complaint' | 'manual' | 'unsubscribe'
  source_email_id: string | null
  metadata: string
  created_at: number
}

interface IdempotencyTable {
  workspace_id: string
  key: string
  /** SHA-256 of what the key was used for, hex. */
  fingerprint: string
  email_id: string
  created_at: number
}

/** Facts of this installation: secrets, last runs of periodic work. */
interface ServiceStateTable {
  key: string
  value: string
}

export interface Tables {
  workspaces: WorkspacesTable
  users: UsersTable
  members: MembersTable
  api_keys: ApiKeysTable
  domains: DomainsTable
  dkim_keys: DkimKeysTable
  emails: EmailsTable
  raw_messages: RawMessagesTable
  dkim_signatures: DkimSignaturesTable
  recipients: RecipientsTable
  queue: QueueTable
  attempts: AttemptsTable
  events: EventsTable
  suppressions: SuppressionsTable
  idempotency: IdempotencyTable
  service_state: ServiceStateTable
}
