/** Workspaces, keys, sending domains, emails, the outbound queue, events, suppressions. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table workspaces (
    id text primary key, name text not null, slug text not null unique, icon_url text, plan text not null,
    created_at integer not null) strict`,
  `create table users (
    id text primary key, email text not null unique, full_name text not null, avatar_url text, password_hash text,
    created_at integer not null) strict`,
  `create table members (
    id text primary key, workspace_id text not null, user_id text not null,
    role text not null check (role in ('owner', 'admin', 'member')), joined_at integer not null,
    unique (workspace_id, user_id)) strict`,
  `create unique index members_one_owner on members (workspace_id) where role = 'owner'`,
  `create table api_keys (
    id text primary key, workspace_id text not null, user_id text not null, name text not null,
    key_hash text not null unique, key_prefix text not null, scopes text not null, allowed_networks text not null,
    allowed_domains text not null, created_at integer not null, expires_at integer, last_used_at integer,
    revoked_at integer) strict`,
  `create index api_keys_of_workspace on api_keys (workspace_id, created_at)`,
  `create table domains (
    id text primary key, workspace_id text not null, domain text not null,
    status text not null check (status in ('pending', 'verified', 'failed')), forced integer not null,
    inbound integer not null, track_opens integer not null, track_clicks integer not null,
    created_at integer not null, verified_at integer, unique (workspace_id, domain)) strict`,
  `create unique index domains_verified_once on domains (domain) where status = 'verified'`,
  `create table dkim_keys (
    id text primary key, workspace_id text not null, domain text not null, selector text not null, private_key text not null,
    public_record text not null, signing integer not null, created_at integer not null) strict`,
  `create unique index dkim_keys_selector on dkim_keys (workspace_id, domain, selector)`,
  `create unique index dkim_keys_signing on dkim_keys (workspace_id, domain) where signing = 1`,
  `create table emails (
    id text primary key, workspace_id text not null, source text not null check (source in ('smtp', 'rest', 'service')),
    message_id text not null, envelope_from text not null, envid text, ret text check (ret in ('full', 'headers')),
    from_email text not null, from_name text not null, to_emails text not null, cc_emails text not null,
    bcc_emails text not null, reply_to text not null, subject text not null, tags text not null,
    track_opens integer not null, track_clicks integer not null,
    priority text not null check (priority in ('high', 'normal', 'low')), size integer not null,
    smtputf8 integer not null,
    status text not null check (status in ('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed',
      'suppressed', 'cancelled', 'complained')),
    created_at integer not null, scheduled_for integer, sent_at integer, delivered_at integer, opened_at integer,
    clicked_at integer, bounced_at integer) strict, without rowid`,
  `create index emails_of_workspace on emails (workspace_id, created_at)`,
  `create index emails_age on emails (created_at)`,
  `create table raw_messages (
    email_id text primary key, workspace_id text not null, created_at integer not null, raw blob not null) strict`,
  `create index raw_messages_age on raw_messages (created_at)`,
  `create table dkim_signatures (
    email_id text primary key, workspace_id text not null, created_at integer not null, field text not null) strict,
    without rowid`,
  `create table recipients (
    id text primary key, email_id text not null, workspace_id text not null, address text not null, domain text not null,
    status text not null check (status in ('scheduled', 'queued', 'sent', 'delivered', 'bounced', 'failed',
      'suppressed', 'cancelled')),
    notify text, orcpt text, attempts integer not null default 0, last_response text, reason text, mx text,
    transcript text, created_at integer not null, delivered_at integer, settled_at integer) strict, without rowid`,
  `create index recipients_of_email on recipients (email_id)`,
  `create table queue (
    id text primary key, email_id text not null, workspace_id text not null, recipient text not null, domain text not null,
    priority integer not null check (priority in (0, 1, 2)), attempts integer not null,
    enqueued_at integer not null, next_attempt_at integer not null, leased integer not null, held integer not null,
    noticed integer not null, last_response text) strict, without rowid`,
  `create index queue_due on queue (workspace_id, held, next_attempt_at)`,
  `create index queue_lanes on queue (workspace_id, domain, priority, held, next_attempt_at)`,
  `create index queue_of_email on queue (email_id)`,
  `create table attempts (
    seq integer primary key autoincrement, workspace_id text not null, email_id text not null, recipient_id text not null,
    number integer not null, at integer not null, duration integer not null, mx text, address text, tls text, reached integer not null,
    outcome text not null check (outcome in ('delivered', 'sent', 'deferred', 'bounced', 'failed')),
    reason text, response text not null, next_attempt_at integer) strict`,
  `create index attempts_of_email on attempts (email_id)`,
  `create table events (
    seq integer primary key autoincrement, id text not null, workspace_id text not null, type text not null, email_id text,
    recipient text, created_at integer not null, data text not null) strict`,
  `create index events_of_workspace on events (workspace_id, seq)`,
  `create index events_of_email on events (email_id)`,
  `create table suppressions (
    id text primary key, workspace_id text not null, email text not null,
    reason text not null check (reason in ('hard_bounce', 'spam_complaint', 'manual', 'unsubscribe')),
    source_email_id text, metadata text not null, created_at integer not null,
    unique (workspace_id, email)) strict`,
  `create table idempotency (
    workspace_id text not null, key text not null, fingerprint text not null, email_id text not null,
    created_at integer not null, primary key (workspace_id, key)) strict, without rowid`,
  `create index idempotency_age on idempotency (created_at)`,
  `create table service_state (key text primary key, value text not null) strict, without rowid`,
])
