/** What the daily checks found wrong, until it is right again; and their notices among the events that make mail. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table doctor_findings (
    workspace_id text not null, check_name text not null, subject text not null,
    state text not null check (state in ('warn', 'fail')), text text not null, remedy text not null,
    failed_at integer not null, checked_at integer not null, noticed integer not null check (noticed in (0, 1)),
    primary key (workspace_id, check_name, subject)) strict, without rowid`,
  'drop index events_of_notices',
  `create index events_of_notices on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed', 'webhook.disabled', 'sms.held',
      'service.checks_failed')`,
])
