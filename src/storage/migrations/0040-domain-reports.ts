/** Reports of other servers about the domains of workspaces: DMARC and TLS. They go with their domain. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table domain_reports (
    id text not null primary key, workspace_id text not null, domain_id text not null,
    kind text not null check (kind in ('dmarc_aggregate', 'dmarc_failure', 'tls')),
    domain text not null, reporter text not null, organization text not null, report_id text not null,
    policy text not null, begins_at integer not null, ends_at integer not null,
    messages integer not null, passed integer not null, size integer not null, received_at integer not null) strict`,
  `create unique index domain_reports_once
    on domain_reports (workspace_id, domain_id, reporter, kind, domain, report_id)`,
  'create index domain_reports_by_domain on domain_reports (workspace_id, domain_id, id)',
  // Covers the sums by reporter.
  'create index domain_reports_by_weight on domain_reports (workspace_id, domain_id, reporter, size)',
  'create index domain_reports_by_age on domain_reports (received_at)',
  `create table domain_report_rows (
    report_id text not null primary key, workspace_id text not null, rows text not null) strict`,
  `create trigger domain_report_rows_gone after delete on domain_reports begin
    delete from domain_report_rows where report_id = old.id;
  end`,
  // Those of a closed workspace are many, and go in small commits.
  `create trigger domain_reports_gone after delete on domains
    when not exists (select 1 from erasures where id = old.workspace_id) begin
    delete from domain_reports where workspace_id = old.workspace_id and domain_id = old.id;
  end`,
])
