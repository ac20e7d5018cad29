/** Imports and exports, which go on after their request was answered. */

export const transfers = [
  // An import: its options, progress and report.
  `create table imports (
    id text primary key, workspace_id text not null, kind text not null check (kind in ('contacts', 'suppressions')),
    status text not null check (status in ('processing', 'completed', 'failed')), options text not null,
    total integer not null, done integer not null, report text, error text, created_at integer not null,
    finished_at integer) strict, without rowid`,
  // Counts and lists the imports of a workspace in one state.
  'create index imports_of_workspace on imports (workspace_id, status, id)',
  // Finds the imports that are to be removed for their age.
  'create index imports_finished on imports (finished_at) where finished_at is not null',
  // Finds the next import to work on.
  `create index imports_processing on imports (id) where status = 'processing'`,

  // The file of an import in chunks.
  `create table import_chunks (
    seq integer primary key, workspace_id text not null, import_id text not null, place integer not null,
    bytes blob not null) strict`,
  // Reads the chunks of an import in their order.
  'create unique index import_chunks_of_import on import_chunks (workspace_id, import_id, place)',

  // An export: what was asked for, how far it is, and what is known of its file.
  `create table exports (
    id text primary key, workspace_id text not null,
    type text not null check (type in ('email_logs', 'bounces', 'suppressions', 'opens', 'broadcast_recipients')),
    status text not null check (status in ('processing', 'completed', 'failed')),
    from_at integer not null, to_at integer not null, domain text, cursor text, rows integer not null,
    bytes integer not null, progress integer not null, error text, created_at integer not null,
    finished_at integer, broadcast_id text, outcome text) strict, without rowid`,
  // The file of an export in pieces: each begins at a byte of the file, which its number says.
  `create table export_chunks (
    seq integer primary key, workspace_id text not null, export_id text not null, start_at integer not null,
    bytes blob not null) strict`,
  // Finds the piece of an export that has a byte.
  'create unique index export_chunks_of_export on export_chunks (workspace_id, export_id, start_at)',
  // Lists the exports of a workspace.
  'create index exports_of_workspace on exports (workspace_id, id)',
  // Finds the next export to work on.
  `create index exports_processing on exports (id) where status = 'processing'`,
  // Finds the exports that are to be removed for their age.
  'create index exports_finished on exports (finished_at) where finished_at is not null',
] as const
