/** Imports that go on after their request was answered: their options, progress, and files. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table imports (
    id text primary key, workspace_id text not null, kind text not null check (kind in ('contacts', 'suppressions')),
    status text not null check (status in ('processing', 'completed', 'failed')), options text not null,
    total integer not null, done integer not null, report text, error text, created_at integer not null,
    finished_at integer) strict, without rowid`,
  'create index imports_of_workspace on imports (workspace_id, status, id)',
  'create index imports_finished on imports (finished_at) where finished_at is not null',
  `create index imports_processing on imports (id) where status = 'processing'`,
  `create table import_chunks (
    seq integer primary key, workspace_id text not null, import_id text not null, place integer not null,
    bytes blob not null) strict`,
  'create unique index import_chunks_of_import on import_chunks (workspace_id, import_id, place)',
])
