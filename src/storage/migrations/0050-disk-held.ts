/**
 * What mail takes of the disk beside its bytes.
 *
 * A record of inbound mail counts in `inbound_totals` while it exists: 8 KB for its row, its indexes and its event, and its
 * recipients twice, which both have. The bytes of its message count while they exist, as before (migration 16).
 *
 * The indexes of spool files have the lengths too, so that what the rows of a file hold is known from them alone.
 */
import { runStatements } from '../migrate.js'

const weightOf = (row: string): string => `8192 + 2 * octet_length(${row}envelope_to)`

export const up = runStatements([
  'drop trigger inbound_emails_go',
  `create trigger inbound_emails_come after insert on inbound_emails begin
    insert into inbound_totals (workspace_id, bytes) values (new.workspace_id, ${weightOf('new.')})
      on conflict (workspace_id) do update set bytes = bytes + excluded.bytes; end`,
  `create trigger inbound_emails_go after delete on inbound_emails begin
    update inbound_totals set bytes = bytes - (${weightOf('old.')})
      - case when exists (select 1 from inbound_raw where inbound_id = old.id) then old.size else 0 end
    where workspace_id = old.workspace_id; end`,
  `insert into inbound_totals (workspace_id, bytes)
    select workspace_id, sum(${weightOf('')}) from inbound_emails where true group by workspace_id
    on conflict (workspace_id) do update set bytes = bytes + excluded.bytes`,
  ...['raw_messages', 'inbound_raw'].flatMap((table) => [
    `drop index ${table}_spooled`,
    `create index ${table}_spooled on ${table} (spool_file, spool_at, spool_bytes) where spool_file is not null`,
  ]),
])
