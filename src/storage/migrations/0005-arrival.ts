/**
 * What was seen of the client and the connection that brought a message, for its spam score;
 * and what waits to be looked at is found by its workspace, so that none is behind another's.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `alter table inbound_emails add column arrival text not null default '{}'`,
  'drop index inbound_waiting',
  `create index inbound_waiting on inbound_emails (workspace_id, received_at, id) where status = 'received'`,
])
