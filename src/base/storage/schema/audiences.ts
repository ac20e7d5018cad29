/** Audiences and contacts, and counts of contacts. */

const addCount = `on conflict (workspace_id, list, slot)
      do update set count = count + excluded.count, subscribed = subscribed + excluded.subscribed;`

/** Adds a contact to the counts of its workspace and of its audience, or takes it out of them. */
const counted = (row: 'new' | 'old', sign: '' | '-'): string =>
  `insert into contact_counts (workspace_id, list, count, subscribed)
    values (${row}.workspace_id, 'all', ${sign}1, ${sign}${row}.subscribed)
    ${addCount}
   ${countedIn(row, sign)}`

const countedIn = (row: 'new' | 'old', sign: '' | '-'): string =>
  `insert into contact_counts (workspace_id, list, count, subscribed)
    select ${row}.workspace_id, ${row}.audience_id, ${sign}1, ${sign}${row}.subscribed
    where ${row}.audience_id is not null
    ${addCount}`

const lists = [
  // Lists of contacts to which broadcasts go.
  `create table audiences (
    id text primary key, workspace_id text not null, name text not null, description text,
    created_at integer not null, updated_at integer not null) strict`,
  // Lists the audiences of a workspace.
  'create index audiences_of_workspace on audiences (workspace_id, id)',

  // Audiences that are gone and whose contacts are still being removed.
  `create table audience_removals (
    audience_id text primary key, workspace_id text not null, created_at integer not null) strict, without rowid`,
  // Finds the removals of a workspace.
  'create index audience_removals_of_workspace on audience_removals (workspace_id)',
] as const

const contacts = [
  // A person's address in an audience, or in none; `email_key` is the address as it is compared.
  `create table contacts (
    id text primary key, workspace_id text not null, audience_id text, email text not null, email_key text not null,
    first_name text, last_name text, subscribed integer not null check (subscribed in (0, 1)), metadata text not null,
    created_at integer not null, updated_at integer not null) strict`,
  // Lists the contacts of a workspace.
  'create index contacts_of_workspace on contacts (workspace_id, id)',
  // Allows an address once in an audience, and finds all contacts with it.
  `create unique index contacts_of_address on contacts (workspace_id, email_key, coalesce(audience_id, ''))`,
  // Lists the contacts of an audience, those who are subscribed without the rows of the table.
  'create index contacts_of_audience on contacts (workspace_id, audience_id, id, subscribed)',
  // Lists the contacts of a workspace that are not subscribed, which are few.
  'create index contacts_unsubscribed on contacts (workspace_id, subscribed, id) where subscribed = 0',
  // Lists those of an audience.
  `create index contacts_of_audience_unsubscribed on contacts (workspace_id, audience_id, subscribed, id)
    where subscribed = 0`,
  // Searches the contacts of an audience by the beginning of the address.
  `create index contacts_of_audience_by_address on contacts (workspace_id, audience_id, email_key)
    where audience_id is not null`,
] as const

const counts = [
  // How many contacts a workspace ('all') or an audience has, and how many of them are subscribed.
  `create table contact_counts (
    workspace_id text not null, list text not null, count integer not null, subscribed integer not null default 0,
    slot integer not null default 0, primary key (workspace_id, list, slot)) strict, without rowid`,
  // Counts a new contact.
  `create trigger contacts_come after insert on contacts begin ${counted('new', '')} end`,
  // Subtracts a contact that is removed.
  `create trigger contacts_go after delete on contacts begin ${counted('old', '-')} end`,
  // Moves a contact from the counts of its old audience to those of its new one.
  `create trigger contacts_move after update of audience_id on contacts when old.audience_id is distinct from new.audience_id
    begin ${countedIn('old', '-')} ${countedIn('new', '')} end`,
  // Counts a change of the subscription, but not in an audience that the contact enters: `contacts_move` has counted it.
  `create trigger contacts_subscribe after update of subscribed on contacts when old.subscribed <> new.subscribed begin
    update contact_counts set subscribed = subscribed + new.subscribed - old.subscribed
    where workspace_id = new.workspace_id
      and (list = 'all' or (list = new.audience_id and old.audience_id is not distinct from new.audience_id)); end`,
] as const

export const audiences = [...lists, ...contacts, ...counts] as const
