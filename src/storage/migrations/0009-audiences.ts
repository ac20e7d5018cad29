/** Audiences, contacts, counts of both (maintained by triggers), and removals in progress. */
import { runStatements } from '../migrate.js'

const counted = (row: 'new' | 'old', by: '+ 1' | '- 1'): string =>
  `insert into contact_counts (workspace_id, list, count) values (${row}.workspace_id, 'all', 0 ${by})
    on conflict (workspace_id, list) do update set count = count ${by};
   ${countedIn(row, by)}`

const countedIn = (row: 'new' | 'old', by: '+ 1' | '- 1'): string =>
  `insert into contact_counts (workspace_id, list, count)
    select ${row}.workspace_id, ${row}.audience_id, 0 ${by} where ${row}.audience_id is not null
    on conflict (workspace_id, list) do update set count = count ${by};`

export const up = runStatements([
  `create table audiences (
    id text primary key, workspace_id text not null, name text not null, description text,
    created_at integer not null, updated_at integer not null) strict`,
  'create index audiences_of_workspace on audiences (workspace_id, id)',
  `create table contacts (
    id text primary key, workspace_id text not null, audience_id text, email text not null, email_key text not null,
    first_name text, last_name text, subscribed integer not null check (subscribed in (0, 1)), metadata text not null,
    created_at integer not null, updated_at integer not null) strict`,
  'create index contacts_of_workspace on contacts (workspace_id, id)',
  'create index contacts_of_audience on contacts (workspace_id, audience_id, id)',
  `create unique index contacts_of_address on contacts (workspace_id, email_key, coalesce(audience_id, ''))`,
  `create table contact_counts (
    workspace_id text not null, list text not null, count integer not null,
    primary key (workspace_id, list)) strict, without rowid`,
  `create trigger contacts_come after insert on contacts begin ${counted('new', '+ 1')} end`,
  `create trigger contacts_go after delete on contacts begin ${counted('old', '- 1')} end`,
  `create trigger contacts_move after update of audience_id on contacts when old.audience_id is not new.audience_id
    begin ${countedIn('old', '- 1')} ${countedIn('new', '+ 1')} end`,
  `create table audience_removals (
    audience_id text primary key, workspace_id text not null, created_at integer not null) strict, without rowid`,
  'create index audience_removals_of_workspace on audience_removals (workspace_id)',
])
