/** Templates, and files that are uploaded once and sent often. */

/** Bytes that each cached file counts besides its own size: a million empty files take space too. */
export const CACHED_FILE_ROW_BYTES = 4_096

const templates = [
  // Templates of a workspace with the variables that they name.
  `create table templates (
    id text primary key, workspace_id text not null, name text not null, alias text, subject text not null, html text,
    text text,
    blocks text, listed_variables text, variables text not null, size integer not null, version integer not null,
    created_at integer not null, updated_at integer not null) strict`,
  // Lists the templates of a workspace.
  'create index templates_of_workspace on templates (workspace_id, id)',
  // Finds a template by its alias, and lets no two have the same.
  'create unique index templates_alias on templates (workspace_id, alias) where alias is not null',
] as const

const cachedFiles = [
  // A file by the key that requests name; `complete` is 0 until all of its chunks are there.
  `create table cached_files (
    workspace_id text not null, key text not null, name text not null, content_type text not null,
    size integer not null, complete integer not null, created_at integer not null, used_at integer not null,
    primary key (workspace_id, key)) strict, without rowid`,
  // Finds the files that were not used for long.
  'create index cached_files_use on cached_files (used_at)',
  // Finds the uploads that were given up.
  'create index cached_files_open on cached_files (created_at) where complete = 0',

  // The bytes of a file in chunks, so that none of its commits is large.
  `create table cached_file_chunks (
    workspace_id text not null, key text not null, place integer not null, bytes blob not null,
    primary key (workspace_id, key, place)) strict`,

  // How many bytes the files of a workspace count.
  `create table cached_file_totals (
    workspace_id text not null, bytes integer not null, slot integer not null default 0,
    primary key (workspace_id, slot)) strict, without rowid`,
  // Adds a new file to the total.
  `create trigger cached_files_come after insert on cached_files begin
    insert into cached_file_totals (workspace_id, bytes) values (new.workspace_id, new.size + ${CACHED_FILE_ROW_BYTES})
    on conflict (workspace_id, slot) do update set bytes = cached_file_totals.bytes + new.size + ${CACHED_FILE_ROW_BYTES}; end`,
  // Adds a chunk that has come.
  `create trigger cached_files_grow after update of size on cached_files begin
    update cached_file_totals set bytes = bytes + new.size - old.size where workspace_id = new.workspace_id; end`,
  // Subtracts a file that is removed.
  `create trigger cached_files_go after delete on cached_files begin
    update cached_file_totals set bytes = bytes - old.size - ${CACHED_FILE_ROW_BYTES}
    where workspace_id = old.workspace_id; end`,
] as const

export const content = [...templates, ...cachedFiles] as const
