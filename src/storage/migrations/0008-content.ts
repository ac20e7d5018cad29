/**
 * Templates, and files that are uploaded once and sent often.
 *
 * A file is stored in chunks, so that none of its commits is large. Each file counts 4 KB beside its own size:
 * a million empty files take space too.
 */
import { runStatements } from '../migrate.js'

const ROW = 4096

export const up = runStatements([
  `create table templates (
    id text primary key, workspace_id text not null, name text not null, subject text not null, html text, text text,
    listed_variables text, variables text not null, size integer not null, version integer not null,
    created_at integer not null, updated_at integer not null) strict`,
  'create index templates_of_workspace on templates (workspace_id, id)',
  `create table cached_files (
    workspace_id text not null, key text not null, name text not null, content_type text not null,
    size integer not null, complete integer not null, created_at integer not null, used_at integer not null,
    primary key (workspace_id, key)) strict, without rowid`,
  'create index cached_files_use on cached_files (used_at)',
  'create index cached_files_open on cached_files (created_at) where complete = 0',
  `create table cached_file_chunks (
    workspace_id text not null, key text not null, place integer not null, bytes blob not null,
    primary key (workspace_id, key, place)) strict`,
  `create table cached_file_totals (
    workspace_id text primary key, bytes integer not null) strict, without rowid`,
  `create trigger cached_files_come after insert on cached_files begin
    insert into cached_file_totals (workspace_id, bytes) values (new.workspace_id, new.size + ${ROW})
    on conflict (workspace_id) do update set bytes = bytes + new.size + ${ROW}; end`,
  `create trigger cached_files_grow after update of size on cached_files begin
    update cached_file_totals set bytes = bytes + new.size - old.size where workspace_id = new.workspace_id; end`,
  `create trigger cached_files_go after delete on cached_files begin
    update cached_file_totals set bytes = bytes - old.size - ${ROW} where workspace_id = old.workspace_id; end`,
])
