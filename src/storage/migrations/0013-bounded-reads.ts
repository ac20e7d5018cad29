/**
 * Keeps every read short: an index for each filter of the inbound list, in list order, with the columns of the
 * other filters, so that a walk along it needs no table rows; and the number of tokens that a classifier has
 * learned, maintained by triggers.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  // A column of its own: along an index of an expression SQLite looks into every row of the table.
  `alter table inbound_emails add column from_key text not null default ''`,
  `update inbound_emails set from_key = lower(from_email) where from_email <> ''`,
  `create index inbound_by_from on inbound_emails
    (workspace_id, kind, from_key, received_at, id, status, spam_status, domain)`,
  'create index inbound_by_domain on inbound_emails (workspace_id, kind, domain, received_at, id, status, spam_status)',
  `create index inbound_by_spam on inbound_emails (workspace_id, kind, spam_status, received_at, id, status)
    where spam_status is not null`,
  `create table bayes_counts (workspace_id text primary key, tokens integer not null) strict, without rowid`,
  `insert into bayes_counts (workspace_id, tokens) select workspace_id, count(*) from bayes_tokens group by workspace_id`,
  `create trigger bayes_tokens_counted after insert on bayes_tokens begin
    insert into bayes_counts (workspace_id, tokens) values (new.workspace_id, 1)
      on conflict (workspace_id) do update set tokens = tokens + 1;
  end`,
  `create trigger bayes_tokens_uncounted after delete on bayes_tokens begin
    update bayes_counts set tokens = tokens - 1 where workspace_id = old.workspace_id;
  end`,
])
