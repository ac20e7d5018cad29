/**
 * What greylisting remembers, with the numbers of its entries maintained by triggers; and what each domain asks of the
 * mail that it receives.
 */
import { runStatements } from '../migrate.js'

const counted = (row: 'new' | 'old', sign: '' | '-'): string =>
  `update greylist_totals set entries = entries + ${sign}1
    where kind = case ${row}.passes when 0 then 'waiting' else 'known' end;`

export const up = runStatements([
  `create table greylist_entries (
    key text primary key, first_at integer not null, seen_at integer not null, passes integer not null)
    strict, without rowid`,
  'create index greylist_waiting on greylist_entries (seen_at) where passes = 0',
  'create index greylist_known on greylist_entries (seen_at) where passes > 0',
  `create table greylist_totals (
    kind text primary key check (kind in ('waiting', 'known')), entries integer not null) strict, without rowid`,
  `insert into greylist_totals (kind, entries) values ('waiting', 0), ('known', 0)`,
  `create trigger greylist_entries_come after insert on greylist_entries begin ${counted('new', '')} end`,
  `create trigger greylist_entries_go after delete on greylist_entries begin ${counted('old', '-')} end`,
  `create trigger greylist_entries_pass after update of passes on greylist_entries
    when (old.passes = 0) <> (new.passes = 0) begin ${counted('old', '-')} ${counted('new', '')} end`,
  `alter table domains add column inbound_policy text not null default '{}'`,
])
