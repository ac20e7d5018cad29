/**
 * How many contacts of each audience are subscribed, beside the number of all, maintained by triggers; and the contacts
 * of an audience in the order of their addresses, for its search.
 */
import { runStatements } from '../migrate.js'

/** Adds a contact to the counts of its workspace and of its audience, or takes it out of them. */
const counted = (row: 'new' | 'old', sign: '' | '-'): string =>
  `insert into contact_counts (workspace_id, list, count, subscribed)
    values (${row}.workspace_id, 'all', ${sign}1, ${sign}${row}.subscribed)
    on conflict (workspace_id, list)
      do update set count = count + excluded.count, subscribed = subscribed + excluded.subscribed;
   ${countedIn(row, sign)}`

const countedIn = (row: 'new' | 'old', sign: '' | '-'): string =>
  `insert into contact_counts (workspace_id, list, count, subscribed)
    select ${row}.workspace_id, ${row}.audience_id, ${sign}1, ${sign}${row}.subscribed
    where ${row}.audience_id is not null
    on conflict (workspace_id, list)
      do update set count = count + excluded.count, subscribed = subscribed + excluded.subscribed;`

export const up = runStatements([
  'alter table contact_counts add column subscribed integer not null default 0',
  `update contact_counts set subscribed = counted.subscribed
    from (select workspace_id, audience_id as list, sum(subscribed) as subscribed from contacts
        where audience_id is not null group by workspace_id, audience_id
      union all select workspace_id, 'all', sum(subscribed) from contacts group by workspace_id) as counted
    where counted.workspace_id = contact_counts.workspace_id and counted.list = contact_counts.list`,
  'drop trigger contacts_come',
  'drop trigger contacts_go',
  'drop trigger contacts_move',
  `create trigger contacts_come after insert on contacts begin ${counted('new', '')} end`,
  `create trigger contacts_go after delete on contacts begin ${counted('old', '-')} end`,
  `create trigger contacts_move after update of audience_id on contacts when old.audience_id is not new.audience_id
    begin ${countedIn('old', '-')} ${countedIn('new', '')} end`,
  // In an audience that the contact leaves with the same statement, `contacts_move` has counted it.
  `create trigger contacts_subscribe after update of subscribed on contacts when old.subscribed <> new.subscribed begin
    update contact_counts set subscribed = subscribed + new.subscribed - old.subscribed
    where workspace_id = new.workspace_id
      and (list = 'all' or (list = new.audience_id and old.audience_id is new.audience_id)); end`,
  `create index contacts_of_audience_by_address on contacts (workspace_id, audience_id, email_key)
    where audience_id is not null`,
])
