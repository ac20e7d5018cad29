/** Exports: what was asked for, how far each is, and what is known of its file in the data folder. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table exports (
    id text primary key, workspace_id text not null,
    type text not null check (type in ('email_logs', 'bounces', 'suppressions', 'opens')),
    status text not null check (status in ('processing', 'completed', 'failed')),
    from_at integer not null, to_at integer not null, domain text, cursor text, rows integer not null,
    bytes integer not null, progress integer not null, error text, created_at integer not null,
    finished_at integer) strict, without rowid`,
  'create index exports_of_workspace on exports (workspace_id, id)',
  `create index exports_processing on exports (id) where status = 'processing'`,
  'create index exports_finished on exports (finished_at) where finished_at is not null',
])
