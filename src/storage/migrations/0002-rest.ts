/**
 * For the REST API: the key that sent an email, counts of emails by status (maintained by triggers), usage of
 * quotas, the first answer for an idempotency key, the audit log, and indexes for lists.
 */
import { runStatements } from '../migrate.js'

const counted = (row: 'new' | 'old', by: '+ 1' | '- 1'): string =>
  `insert into email_counts (workspace_id, status, count) values (${row}.workspace_id, ${row}.status, 0 ${by})
   on conflict (workspace_id, status) do update set count = count ${by};`

export const up = runStatements([
  'alter table emails add column key_id text',
  'alter table emails add column template_id text',
  'create index emails_by_status on emails (workspace_id, status, created_at)',
  `create table email_counts (
    workspace_id text not null, status text not null, count integer not null,
    primary key (workspace_id, status)) strict, without rowid`,
  `insert into email_counts (workspace_id, status, count)
    select workspace_id, status, count(*) from emails group by workspace_id, status`,
  `create trigger emails_come after insert on emails begin ${counted('new', '+ 1')} end`,
  `create trigger emails_go after delete on emails begin ${counted('old', '- 1')} end`,
  `create trigger emails_change after update of status on emails when old.status <> new.status
    begin ${counted('old', '- 1')} ${counted('new', '+ 1')} end`,
  `create table usage (
    workspace_id text not null, kind text not null, bucket integer not null, count integer not null,
    primary key (workspace_id, kind, bucket)) strict, without rowid`,
  `create table idempotency_with_answer (
    workspace_id text not null, key text not null, fingerprint text not null, email_id text, answer text,
    created_at integer not null, primary key (workspace_id, key)) strict, without rowid`,
  `insert into idempotency_with_answer (workspace_id, key, fingerprint, email_id, created_at)
    select workspace_id, key, fingerprint, email_id, created_at from idempotency`,
  'drop table idempotency',
  'alter table idempotency_with_answer rename to idempotency',
  'create index idempotency_age on idempotency (created_at)',
  `create table audit_log (
    seq integer primary key autoincrement, id text not null, workspace_id text not null, at integer not null,
    actor text not null, action text not null, target text not null, details text not null) strict`,
  'create index audit_log_of_workspace on audit_log (workspace_id, seq)',
  'create index suppressions_of_workspace on suppressions (workspace_id, id)',
  'create index suppressions_by_reason on suppressions (workspace_id, reason, id)',
])
