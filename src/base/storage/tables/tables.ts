/**
 * Every table, for Kysely. `storage/schema` and the migrations after it define the schema; a test compares the two.
 *
 * Every row of a workspace has its `workspace_id`; the service's own mail and keys have
 * `SERVICE_WORKSPACE` there. Ids are text.
 */

import type { Generated } from 'kysely'
import type {
  ApiKeysTable,
  AuditLogTable,
  ErasuresTable,
  InvitationsTable,
  MembersTable,
  UsageTable,
  UsersTable,
  WorkspacesTable,
} from './account-tables.js'
import type { BreakerCountsTable, BreakerStatesTable } from './breaker-tables.js'
import type {
  BroadcastCountsTable,
  BroadcastFramesTable,
  BroadcastLinksTable,
  BroadcastMessagesTable,
  BroadcastsTable,
} from './broadcast-tables.js'
import type {
  AcmeAccountsTable,
  AcmeCertificatesTable,
  AcmeChallengesTable,
  AcmeNamesTable,
} from './certificate-tables.js'
import type { Flag, Json, Slot, Timestamp } from './columns.js'
import type {
  AudienceRemovalsTable,
  AudiencesTable,
  CachedFileChunksTable,
  CachedFilesTable,
  CachedFileTotalsTable,
  ContactCountsTable,
  ContactsTable,
  ImportChunksTable,
  ImportsTable,
  SuppressionsTable,
  TemplatesTable,
} from './content-tables.js'
import type { StsPoliciesTable } from './delivery-tables.js'
import type { DomainReportRowsTable, DomainReportsTable, MailReceiversTable } from './domain-report-tables.js'
import type { DkimKeysTable, DomainsTable, ZoneSerialTable } from './domain-tables.js'
import type {
  AttemptsTable,
  DkimSignaturesTable,
  EmailCountsTable,
  EmailsTable,
  EventsTable,
  HoldRulesTable,
  IdempotencyTable,
  QueueTable,
  RawMessagesTable,
  RecipientsTable,
} from './email-tables.js'
import type { ExportChunksTable, ExportsTable } from './export-tables.js'
import type { ForwardRulesTable, ForwardTargetsTable, InboundForwardsTable } from './forward-tables.js'
import type {
  BayesCountsTable,
  BayesDaysTable,
  BayesLearnedTable,
  BayesMessagesTable,
  BayesTokensTable,
  BlockedAddressesTable,
  GreylistEntriesTable,
  GreylistTotalsTable,
  InboundEmailsTable,
  InboundRawTable,
  InboundTotalsTable,
} from './inbound-tables.js'
import type { EmailMetricsTable, LinkMetricsTable } from './metrics-tables.js'
import type { KnownBrowsersTable, PasswordLinksTable, RecoveryCodesTable, SessionsTable } from './session-tables.js'
import type { SmsCodesTable, SmsHoldsTable, SmsPartsTable } from './sms-tables.js'
import type { TlsPoliciesTable, TlsReportsTable, TlsResultsTable } from './tls-report-tables.js'
import type { HtmlEditsTable, LinksTable, RecipientCopiesTable, UnsubscribeLinksTable } from './tracking-tables.js'
import type {
  WebhookCursorsTable,
  WebhookDeliveriesTable,
  WebhookRemovalsTable,
  WebhookReplaysTable,
  WebhooksTable,
} from './webhook-tables.js'

/** Stands in place of a workspace id for what belongs to the service itself. No workspace can have it. */
export const SERVICE_WORKSPACE = 'service'

/** Ranges of spool files that have lost their row and are still to be overwritten. Triggers make them. */
interface SpoolHolesTable {
  file: number
  at: number
  bytes: number
}

/** Facts of this installation: secrets, last runs of periodic work. */
interface ServiceStateTable {
  key: string
  value: string
}

/** How often each table that caches hold was changed, which triggers count, and how often commands announced a change. */
interface ChangesTable {
  table_name: string
  number: number
  slot: Slot
}

export interface Tables {
  workspaces: WorkspacesTable
  users: UsersTable
  members: MembersTable
  api_keys: ApiKeysTable
  domains: DomainsTable
  domain_reports: DomainReportsTable
  domain_report_rows: DomainReportRowsTable
  mail_receivers: MailReceiversTable
  dkim_keys: DkimKeysTable
  emails: EmailsTable
  raw_messages: RawMessagesTable
  dkim_signatures: DkimSignaturesTable
  recipients: RecipientsTable
  queue: QueueTable
  hold_rules: HoldRulesTable
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
  greylist_entries: GreylistEntriesTable
  greylist_totals: GreylistTotalsTable
  forward_rules: ForwardRulesTable
  forward_targets: ForwardTargetsTable
  inbound_forwards: InboundForwardsTable
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
  changes: ChangesTable
  zone_serial: ZoneSerialTable
  links: LinksTable
  html_edits: HtmlEditsTable
  recipient_copies: RecipientCopiesTable
  unsubscribe_links: UnsubscribeLinksTable
  webhooks: WebhooksTable
  webhook_cursors: WebhookCursorsTable
  webhook_deliveries: WebhookDeliveriesTable
  webhook_replays: WebhookReplaysTable
  webhook_removals: WebhookRemovalsTable
  broadcasts: BroadcastsTable
  broadcast_frames: BroadcastFramesTable
  broadcast_links: BroadcastLinksTable
  broadcast_messages: BroadcastMessagesTable
  broadcast_counts: BroadcastCountsTable
  email_metrics: EmailMetricsTable
  link_metrics: LinkMetricsTable
  exports: ExportsTable
  export_chunks: ExportChunksTable
  sessions: SessionsTable
  password_links: PasswordLinksTable
  recovery_codes: RecoveryCodesTable
  known_browsers: KnownBrowsersTable
  sms_codes: SmsCodesTable
  sms_parts: SmsPartsTable
  sms_holds: SmsHoldsTable
  doctor_findings: DoctorFindingsTable
  provider_paces: ProviderPacesTable
  warm_ups: WarmUpsTable
  sts_policies: StsPoliciesTable
  tls_policies: TlsPoliciesTable
  tls_results: TlsResultsTable
  tls_reports: TlsReportsTable
  breaker_counts: BreakerCountsTable
  breaker_states: BreakerStatesTable
  spool_holes: SpoolHolesTable
  acme_accounts: AcmeAccountsTable
  acme_certificates: AcmeCertificatesTable
  acme_names: AcmeNamesTable
  acme_challenges: AcmeChallengesTable
}

/** A fault that a daily check found. The row is removed when it is right again. */
interface DoctorFindingsTable {
  /** `SERVICE_WORKSPACE`. */
  workspace_id: string
  check_name: string
  subject: string
  state: 'warn' | 'fail'
  text: string
  remedy: Json<readonly string[]>
  /** When it was found first. */
  failed_at: Timestamp
  checked_at: Timestamp
  /** A notice has named it. */
  noticed: Flag
  /** The daemon that found it. */
  node: Generated<string>
}

/** The rows belong to the installation, and to no workspace. A provider that has never refused anything for its pace has no row. */
interface ProviderPacesTable {
  /** The node that has learned it. The database fills it in. */
  node: Generated<string>
  /** An id of the known providers, the registrable domain of the MX hosts, or the host and port of a route. */
  provider: string
  /** One of our addresses. Empty if the system chooses it. */
  source: string
  /** Null if there is no limit. */
  sessions: number | null
  ceiling: number | null
  ceiling_at: Timestamp
  /** The messages of one session. Null if none was learned. */
  messages: number | null
  messages_at: Timestamp | null
  /** Messages in 1,000 seconds, or null if no limit is known. */
  rate: number | null
  rate_refused_at: Timestamp
  pause_kind: 'rate' | 'block' | null
  pause_reply: string | null
  pause_since: Timestamp | null
  pause_until: Timestamp | null
  /** Messages that were refused since it began. */
  pause_probes: number | null
  updated_at: Timestamp
  /** The operator wants it to be forgotten. */
  reset: Flag
}

/** One new source address or domain at one provider. */
interface WarmUpsTable {
  /** The workspace of the domain; `SERVICE_WORKSPACE` for a source address. */
  workspace_id: string
  /** A source address in its canonical form, or a domain. */
  subject: string
  /** One of `providerGroups`, or `*` if all of them, in a row that says that the operator has ended the warm-up. */
  provider: string
  /** Index into the plan. */
  step: number
  /** The day that is counted, in UTC and in days since 1970-01-01. */
  day: number
  /** Transactions of that day, and those of them that the provider deferred or refused because of us. */
  sent: number
  deferred: number
  /** Transactions that may have been made before a crash. They are never fewer than those that were. */
  reserved: number
  /** No cap applies any longer. */
  ended: Flag
  /** Each change of the operator raises it. Numbers that the daemon counted before it are not written. */
  revision: number
  updated_at: Timestamp
}
