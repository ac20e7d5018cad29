/** The suppression list. */

export const suppressions = [
  // An address to which a workspace sends no more, and why.
  `create table suppressions (
    id text primary key, workspace_id text not null, email text not null,
    reason text not null check (reason in ('hard_bounce', 'spam_complaint', 'manual', 'unsubscribe')),
    source_email_id text, metadata text not null, created_at integer not null,
    unique (workspace_id, email)) strict`,
  // Lists the suppressions of a workspace.
  'create index suppressions_of_workspace on suppressions (workspace_id, id)',
  // Lists those with one reason.
  'create index suppressions_by_reason on suppressions (workspace_id, reason, id)',
  // Searches those with one reason by the beginning of the address.
  'create index suppressions_by_reason_and_email on suppressions (workspace_id, reason, email)',
] as const
