/** MTA-STS policies of recipients' domains, and what the sender of an email says about TLS on its way. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table sts_policies (
    domain text primary key, policy_id text not null,
    mode text not null check (mode in ('enforce', 'testing', 'none')), patterns text not null,
    max_age integer not null, fetched_at integer not null) strict, without rowid`,
  `alter table emails add column tls_required text check (tls_required in ('yes', 'no'))`,
])
