/** The DNS state of a sending domain and its next check; the lifetime of a DKIM key from published to retired. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `alter table domains add column record_states text not null default '{}'`,
  'alter table domains add column checked_at integer',
  'alter table domains add column next_check_at integer',
  'alter table domains add column unproved_since integer',
  'alter table domains add column rotation_asked_at integer',
  `update domains set next_check_at = created_at where forced = 0`,
  `update domains set unproved_since = created_at where status <> 'verified'`,
  'create index domains_to_check on domains (next_check_at, id) where next_check_at is not null',
  'alter table dkim_keys add column usable_at integer not null default 0',
  'alter table dkim_keys add column retired_at integer',
])
