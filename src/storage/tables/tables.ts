/**
 * The shape of every table, for Kysely. The truth is in `migrations/`; a test holds
 * the two against each other.
 *
 * Every row that belongs to a workspace bears `workspace_id`; the service's own mail
 * and keys bear `SERVICE`. Times are epoch milliseconds, ids text, booleans 0/1, lists
 * and objects JSON text.
 */
import type { Generated } from 'kysely'
import type { AudienceRemovalsTable, AudiencesTable, ContactCountsTable, ContactsTable } from './audience-tables.js'
import type {
  BayesCountsTable,
  BayesDaysTable,
  BayesLearnedTable,
  BayesMessagesTable,
  BayesTokensTable,
} from './bayes-tables.js'
import type {
  CachedFileChunksTable,
  CachedFilesTable,
  CachedFileTotalsTable,
  TemplatesTable,
} from './content-tables.js'
import type {
  AttemptsTable,
  DkimSignaturesTable,
  EmailCountsTable,
  EmailsTable,
  Flag,
  QueueTable,
  RawMessagesTable,
  RecipientsTable,
} from './email-tables.js'
import type { ImportChunksTable, ImportsTable } from './import-tables.js'
import type {
  BlockedAddressesTable,
  InboundEmailsTable,
  InboundRawTable,
  InboundTotalsTable,
} from './inbound-tables.js'
import type { ErasuresTable, InvitationsTable } from './people-tables.js'
import type { ZoneSerialTable } from './zone-tables.js'

export type { BayesVerdict } from './bayes-tables.js'
export type { EmailStatus, Flag, Priority, RecipientStatus } from './email-tables.js'
export type { InboundStatus, SpamStatus } from './inbound-tables.js'

/** Stands where a workspace id stands, for what belongs to the service itself. No workspace can have it. */
export const SERVICE_WORKSPACE = 'service'

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
  /** JSON: what the last look at DNS found of each record. */
  record_states: string
  /** When DNS last answered for all records. */
  checked_at: number | null
  /** When DNS is asked again; null: nobody waits for it. */
  next_check_at: number | null
  /** Since when DNS does not show what it should; null while it does. */
  unproved_since: number | null
  /** A change to the other DKIM key is under way since then. */
  rotation_asked_at: number | null
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
  /** Not to sign before: until then DNS may still remember what stood in its place. */
  usable_at: number
  /** When it ceased to sign; null: it signs, or never has. */
  retired_at: number | null
}

/** What a workspace has used of its quotas, in buckets of time: see `accounts/limits/quota.ts`. */
interface UsageTable {
  workspace_id: string
  kind: string
  /** Start of the bucket. */
  bucket: number
  count: number
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
  /** What a message submitted by SMTP became. */
  email_id: string | null
  /** JSON: the first answer to a request of the API. */
  answer: string | null
  created_at: number
}

/** Administrative acts: who did what to what. */
interface AuditLogTable {
  seq: Generated<number>
  id: string
  workspace_id: string
  at: number
  /** Id of the user, `operator` for the command line, `service` for the daemon itself. */
  actor: string
  /** As `api_key.created`. */
  action: string
  /** Id of what was acted on. */
  target: string
  /** JSON object; no secret in it. */
  details: string
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
  email_counts: EmailCountsTable
  usage: UsageTable
  audit_log: AuditLogTable
  imports: ImportsTable
  import_chunks: ImportChunksTable
  bayes_tokens: BayesTokensTable
  bayes_counts: BayesCountsTable
  bayes_messages: BayesMessagesTable
  bayes_learned: BayesLearnedTable
  bayes_days: BayesDaysTable
  inbound_emails: InboundEmailsTable
  inbound_raw: InboundRawTable
  inbound_totals: InboundTotalsTable
  blocked_addresses: BlockedAddressesTable
  audiences: AudiencesTable
  contacts: ContactsTable
  contact_counts: ContactCountsTable
  audience_removals: AudienceRemovalsTable
  templates: TemplatesTable
  cached_files: CachedFilesTable
  cached_file_chunks: CachedFileChunksTable
  cached_file_totals: CachedFileTotalsTable
  invitations: InvitationsTable
  erasures: ErasuresTable
  service_state: ServiceStateTable
  zone_serial: ZoneSerialTable
}
