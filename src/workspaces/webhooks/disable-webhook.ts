/**
 * Disables a webhook because its endpoint is gone or has failed for days.
 *
 * The same commit has the event `webhook.disabled`. The notice to the administrators of the workspace is written
 * from it.
 */

import { formatTimestamp } from '../../base/platform/clock.js'
import { prepareWrite } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import { recordEvent } from '../../records/events/event-log.js'
import { daemonActor, recordAuditEntry } from '../accounts/access/audit-log.js'
import type { Webhook, WebhookRef } from './webhook-records.js'

export type DisabledReason = NonNullable<Webhook['disabled_reason']>

/** The data of the event `webhook.disabled`. */
export interface WebhookDisabledData {
  readonly webhook_id: string
  readonly url: string
  readonly reason: DisabledReason
  /** ISO 8601. It is null if the endpoint had not failed before. */
  readonly failing_since: string | null
}

const disable = prepareWrite<WebhookRef & { reason: DisabledReason; at: Timestamp }>(
  ({ db, slot }) =>
    db
      .updateTable('webhooks')
      .set({ enabled: 0, disabled_reason: slot('reason'), updated_at: slot('at') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('enabled', '=', 1),
  1,
)

/** Misses when the webhook is disabled already or gone. Then nothing is recorded. */
export function disableWebhook(webhook: Webhook, reason: DisabledReason, at: Timestamp): readonly Write[] {
  const { id, workspace_id: workspaceId, url, failing_since: since } = webhook
  const data = {
    webhook_id: id,
    url,
    reason,
    failing_since: since === null ? null : formatTimestamp(since),
  } satisfies WebhookDisabledData
  return [
    disable({ workspaceId, id, reason, at }),
    recordEvent({ workspaceId, type: 'webhook.disabled', emailId: null, recipient: null, at, data }),
    recordAuditEntry({
      workspaceId,
      actor: daemonActor,
      action: 'webhook.disabled',
      target: id,
      at,
      details: { reason },
    }),
  ]
}
