/** Webhooks, what was delivered to them, and requests to deliver events of a time range again. */

export const webhooks = [
  // A URL to which events go, in which form, the event behind which it begins, and its secrets.
  `create table webhooks (
    id text primary key, workspace_id text not null, url text not null, events text not null,
    enabled integer not null, disabled_reason text, secret text not null, previous_secret text,
    previous_secret_until integer, event_cursor integer not null, failing_since integer,
    replay_day integer not null default 0, replayed integer not null default 0,
    created_at integer not null, updated_at integer not null,
    format text not null check (format in ('posthorn', 'resend', 'postmark', 'sendgrid', 'mailgun', 'raw')),
    content text not null check (content in ('none', 'parsed', 'raw')), headers text, login text,
    verification_key text, verification_secret text) strict`,
  // Lists the webhooks of a workspace.
  'create index webhooks_of_workspace on webhooks (workspace_id, id)',

  // How far a webhook has come in the events of a slot, and the last attempt that the writer of the slot has noted.
  `create table webhook_cursors (
    webhook_id text not null, workspace_id text not null, slot integer not null default 0, seq integer not null,
    last_status text, last_at integer, last_response_status integer,
    primary key (webhook_id, slot)) strict, without rowid`,

  // The delivery of an event to a webhook, and its attempts.
  `create table webhook_deliveries (
    id text primary key, workspace_id text not null, webhook_id text not null, event_seq integer not null,
    event_id text not null, type text not null,
    status text not null check (status in ('pending', 'delivered', 'failed')), attempts integer not null,
    next_attempt_at integer, response_status integer, response_body text, error text,
    created_at integer not null, delivered_at integer, node text not null default '') strict, without rowid`,
  // Lists the deliveries of a webhook.
  'create index webhook_deliveries_of_webhook on webhook_deliveries (webhook_id, id)',
  // Finds the deliveries of a node that are due, in the order of their attempts.
  `create index webhook_deliveries_pending on webhook_deliveries (node, webhook_id, next_attempt_at)
    where status = 'pending'`,
  // Lists the deliveries that are pending.
  `create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, id) where status = 'pending'`,
  // Lists the deliveries that failed.
  `create index webhook_deliveries_failed on webhook_deliveries (webhook_id, id) where status = 'failed'`,

  // A request to deliver events again, and how far it has come.
  `create table webhook_replays (
    id text primary key, workspace_id text not null, webhook_id text not null, types text not null,
    next_seq integer not null, last_seq integer not null, created_at integer not null,
    node text not null default '') strict`,
  // Finds the requests of a webhook, the oldest first.
  'create index webhook_replays_of_webhook on webhook_replays (webhook_id, id)',

  // Webhooks that are gone and whose deliveries are still being removed.
  `create table webhook_removals (
    webhook_id text primary key, workspace_id text not null, created_at integer not null) strict, without rowid`,
  // Finds the removals of a workspace.
  'create index webhook_removals_of_workspace on webhook_removals (workspace_id)',
] as const
