/** Hold rules of the operator, and the entries that each of them holds. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table hold_rules (
    id text primary key, workspace_id text not null, domain text, sender text, pattern text, until integer,
    created_at integer not null, ending integer not null, cursor text) strict, without rowid`,
  'create index hold_rules_of_workspace on hold_rules (workspace_id)',
  'alter table queue add column hold_rule text',
  'create index queue_of_hold_rule on queue (hold_rule) where hold_rule is not null',
])
