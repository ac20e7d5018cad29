/**
 * Outcomes by quarters of an hour and what the circuit breaker has made of them; why it holds mail, in the hold rule;
 * and its events among those that make mail.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table breaker_counts (
    workspace_id text not null, scope text not null check (scope in ('workspace', 'domain', 'broadcast')),
    subject text not null, bucket integer not null, settled integer not null, bounced integer not null,
    complained integer not null, primary key (workspace_id, scope, subject, bucket)) strict, without rowid`,
  'create index breaker_counts_by_age on breaker_counts (bucket)',
  `create table breaker_states (
    workspace_id text not null, scope text not null check (scope in ('workspace', 'domain', 'broadcast')),
    subject text not null, state text not null check (state in ('warning', 'held')),
    cause text not null check (cause in ('bounces', 'complaints')), since integer not null,
    messages integer not null, failures integer not null, limit_hundredths integer not null, hold_rule text,
    primary key (workspace_id, scope, subject)) strict, without rowid`,
  'create index breaker_states_by_state on breaker_states (state, scope)',
  'alter table hold_rules add column reason text',
  'drop index events_of_notices',
  `create index events_of_notices on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed', 'webhook.disabled', 'sms.held',
      'service.checks_failed', 'sending.warned', 'sending.held', 'sending.released')`,
])
