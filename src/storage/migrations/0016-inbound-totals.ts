/**
 * The bytes of inbound mail of each workspace, maintained by triggers.
 *
 * A message counts the size in its record while its bytes exist. Its two rows are deleted in either order:
 * whichever goes first subtracts the bytes.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'create table inbound_totals (workspace_id text primary key, bytes integer not null) strict, without rowid',
  `insert into inbound_totals (workspace_id, bytes)
    select workspace_id, sum(size) from inbound_emails
    where exists (select 1 from inbound_raw where inbound_raw.inbound_id = inbound_emails.id) group by workspace_id`,
  `create trigger inbound_raw_comes after insert on inbound_raw begin
    insert into inbound_totals (workspace_id, bytes)
      select workspace_id, size from inbound_emails where id = new.inbound_id
      on conflict (workspace_id) do update set bytes = bytes + excluded.bytes; end`,
  `create trigger inbound_raw_goes after delete on inbound_raw begin
    update inbound_totals set bytes = bytes - (select size from inbound_emails where id = old.inbound_id)
    where workspace_id = (select workspace_id from inbound_emails where id = old.inbound_id); end`,
  `create trigger inbound_emails_go after delete on inbound_emails
    when exists (select 1 from inbound_raw where inbound_id = old.id) begin
    update inbound_totals set bytes = bytes - old.size where workspace_id = old.workspace_id; end`,
])
