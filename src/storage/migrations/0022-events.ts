/**
 * Indexes of the event log for readers: the events of a workspace, of a recipient and of an email, each by type, in
 * the order of `seq`. Readers merge the types, so that no read passes over events that it does not return. Disabled
 * webhooks are added to the events from which the service's own mail is written.
 */
import { runStatements } from '../migrate.js'

export const up = runStatements([
  'create index events_by_type on events (workspace_id, type)',
  // Recipients come in any order: within a block of the log, so that new entries stay close together.
  `create index events_of_recipient on events (seq / 131072, workspace_id, recipient collate nocase, type)
    where recipient is not null`,
  'drop index events_of_email',
  'create index events_of_email on events (email_id, type) where email_id is not null',
  'drop index events_told',
  `create index events_of_notices on events (seq)
    where type in ('invitation.created', 'domain.broken', 'domain.failed', 'webhook.disabled')`,
])
