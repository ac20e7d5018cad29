/** Holds the tables of what belongs to the whole installation. */

export const service = [
  // Single values of the service by name, such as the operator's workspace.
  'create table service_state (key text primary key, value text not null) strict, without rowid',

  // What the daily checks of each node found wrong, until it is right again.
  `create table doctor_findings (
    workspace_id text not null, check_name text not null, subject text not null,
    state text not null check (state in ('warn', 'fail')), text text not null, remedy text not null,
    failed_at integer not null, checked_at integer not null, noticed integer not null check (noticed in (0, 1)),
    node text not null default '',
    primary key (workspace_id, node, check_name, subject)) strict, without rowid`,
] as const
