/**
 * Deleted webhooks whose deliveries are not removed yet, indexes of deliveries that are not delivered, and disabled
 * webhooks among the events from which the service's own mail is written.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  `create table webhook_removals (
    webhook_id text primary key, workspace_id text not null, created_at integer not null) strict, without rowid`,
  'create index webhook_removals_of_workspace on webhook_removals (workspace_id)',
  `create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, id) where status = 'pending'`,
  `create index webhook_deliveries_failed on webhook_deliveries (webhook_id, id) where status = 'failed'`,
  'drop index events_told',
  `create index events_of_notices on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed', 'webhook.disabled')`,
])
