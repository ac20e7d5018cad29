/** Domains of workspaces, their keys, the zone that answers for them, and reports of others about them. */

/**
 * A serial number is the time of the change in seconds, or one more than the last: it never goes back. Each change of what
 * the zone answers raises it.
 */
const raise = 'begin update zone_serial set serial = max(serial + 1, unixepoch()); end'

const registrations = [
  // Domains from which a workspace sends and at which it receives, with the state of their DNS records.
  `create table domains (
    id text primary key, workspace_id text not null, domain text not null,
    status text not null check (status in ('pending', 'verified', 'failed')), forced integer not null,
    inbound integer not null, track_opens integer, track_clicks integer,
    created_at integer not null, verified_at integer, record_states text not null default '{}', checked_at integer,
    next_check_at integer, unproved_since integer, rotation_asked_at integer,
    inbound_policy text not null default '{}', unique (workspace_id, domain)) strict`,
  // Lets one workspace alone have a domain as verified, and finds that workspace.
  `create unique index domains_verified_once on domains (domain) where status = 'verified'`,
  // Finds the domains whose DNS records are to be checked.
  'create index domains_to_check on domains (next_check_at, id) where next_check_at is not null',
  // Finds a domain by its label in the service zone: the end of its id.
  'create index domains_label on domains (substr(id, 15))',
  // Lists the domains of a workspace in the order in which they were made.
  'create index domains_of_workspace on domains (workspace_id, created_at, id)',

  // DKIM keys of domains, from published over signing to retired.
  `create table dkim_keys (
    id text primary key, workspace_id text not null, domain text not null, selector text not null,
    private_key text not null, public_record text not null, signing integer not null, created_at integer not null,
    usable_at integer not null default 0, retired_at integer) strict`,
  // Gives each key of a domain a different selector, and finds the keys of a domain.
  'create unique index dkim_keys_selector on dkim_keys (workspace_id, domain, selector)',
  // Lets one key of a domain sign, and finds it.
  'create unique index dkim_keys_signing on dkim_keys (workspace_id, domain) where signing = 1',
] as const

const zone = [
  // The serial number of the service zone, in one row.
  'create table zone_serial (id integer primary key check (id = 1), serial integer not null) strict',
  'insert into zone_serial values (1, unixepoch())',
  // Raises the serial number when a key comes.
  `create trigger zone_keys_come after insert on dkim_keys ${raise}`,
  // Raises the serial number when a key goes.
  `create trigger zone_keys_go after delete on dkim_keys ${raise}`,
  // Raises the serial number when what is published of a key changes.
  `create trigger zone_keys_change after update of domain, selector, public_record on dkim_keys ${raise}`,
  // Raises the serial number when a domain comes.
  `create trigger zone_domains_come after insert on domains ${raise}`,
  // Raises the serial number when a domain goes.
  `create trigger zone_domains_go after delete on domains ${raise}`,
] as const

const receiving = [
  // Addresses whose mail is refused although their domain accepts mail for any local part.
  `create table blocked_addresses (
    workspace_id text not null, domain_id text not null, local_part text not null,
    primary key (workspace_id, domain_id, local_part)) strict, without rowid`,

  // Says to whom each domain has sent mail: reports about it from others are not counted.
  `create table mail_receivers (
    workspace_id text not null, domain text not null, receiver text not null, noted_at integer not null,
    primary key (workspace_id, domain, receiver)) strict, without rowid`,
  // Finds the receivers that were noted long ago.
  'create index mail_receivers_by_age on mail_receivers (noted_at)',
] as const

const reports = [
  // Reports of other servers about a domain: DMARC and TLS.
  `create table domain_reports (
    id text not null primary key, workspace_id text not null, domain_id text not null,
    kind text not null check (kind in ('dmarc_aggregate', 'dmarc_failure', 'tls')),
    domain text not null, reporter text not null, organization text not null, report_id text not null,
    policy text not null, begins_at integer not null, ends_at integer not null,
    messages integer not null, passed integer not null, size integer not null, received_at integer not null) strict`,
  // Takes each report once.
  `create unique index domain_reports_once
    on domain_reports (workspace_id, domain_id, reporter, kind, domain, report_id)`,
  // Lists the reports about a domain.
  'create index domain_reports_by_domain on domain_reports (workspace_id, domain_id, id)',
  // Sums the sizes by reporter without the rows of the table.
  'create index domain_reports_by_weight on domain_reports (workspace_id, domain_id, reporter, size)',
  // Finds the reports that are to be removed for their age.
  'create index domain_reports_by_age on domain_reports (received_at)',

  // The rows of a report as JSON, apart from what lists show.
  `create table domain_report_rows (
    report_id text not null primary key, workspace_id text not null, rows text not null) strict`,
  // Removes the rows of a report together with the report.
  `create trigger domain_report_rows_gone after delete on domain_reports begin
    delete from domain_report_rows where report_id = old.id;
  end`,
  // Removes the reports together with their domain; those of a closed workspace are many, and go in small commits.
  `create trigger domain_reports_gone after delete on domains
    when not exists (select 1 from erasures where id = old.workspace_id) begin
    delete from domain_reports where workspace_id = old.workspace_id and domain_id = old.id;
  end`,
] as const

export const domains = [...registrations, ...zone, ...receiving, ...reports] as const
