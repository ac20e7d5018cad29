/** Addresses whose mail is refused although their domain accepts mail for any local part. */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table blocked_addresses (
      workspace_id text not null, domain_id text not null, local_part text not null,
      primary key (workspace_id, domain_id, local_part)) strict, without rowid`,
])
