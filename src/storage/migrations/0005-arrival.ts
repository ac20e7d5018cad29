/**
 * What was seen of the client that brought a message, for its spam score. Unprocessed mail is indexed by
 * workspace, so that no workspace waits behind another.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `alter table inbound_emails add column arrival text not null default '{}'`,
  'drop index inbound_waiting',
  `create index inbound_waiting on inbound_emails (workspace_id, received_at, id) where status = 'received'`,
])
