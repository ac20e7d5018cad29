/** The outbound queue, and the rules by which the operator holds entries of it. */

export const queue = [
  // A recipient to whom a message is still to be delivered: when, what the entry waits for, and which node delivers it.
  `create table queue (
    id text primary key, email_id text not null, workspace_id text not null, recipient text not null,
    domain text not null, priority integer not null check (priority in (0, 1, 2)), attempts integer not null,
    enqueued_at integer not null, next_attempt_at integer not null, leased integer not null, held integer not null,
    noticed integer not null, last_response text, waits_for text, broadcast_id text,
    hold_rule text, node text not null default '') strict, without rowid`,
  // Finds the next entry of a node and a workspace that is due.
  'create index queue_due on queue (node, workspace_id, held, next_attempt_at)',
  // Finds the next entry of a workspace and a node to one domain, by priority, and all entries of a workspace.
  'create index queue_lanes on queue (workspace_id, node, domain, priority, held, next_attempt_at)',
  // Finds the entries of an email.
  'create index queue_of_email on queue (email_id)',
  // Finds the leases that a process left that ended, without a walk over the queue.
  'create index queue_leased on queue (leased) where leased = 1',
  // Counts and changes the entries of a broadcast.
  'create index queue_of_broadcast on queue (broadcast_id, held, attempts, waits_for) where broadcast_id is not null',
  // Lists the entries of all workspaces to one domain.
  'create index queue_of_domain on queue (domain, id)',
  // Lists the entries that are held.
  'create index queue_held on queue (id) where held <> 0',
  // Finds the entries that a hold rule holds.
  'create index queue_of_hold_rule on queue (hold_rule) where hold_rule is not null',

  // Rules of the operator and of the circuit breaker that hold mail, and how far each has walked through the queue.
  `create table hold_rules (
    id text primary key, workspace_id text not null, domain text, sender text, pattern text, until integer,
    created_at integer not null, ending integer not null, cursor text, reason text, owner text) strict, without rowid`,
  // Finds the rules of a workspace.
  'create index hold_rules_of_workspace on hold_rules (workspace_id)',
] as const
