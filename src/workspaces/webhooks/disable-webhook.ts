/**
 * Disables a webhook because its endpoint is gone or has failed for days, for all nodes.
 *
 * The same commit has the event `webhook.disabled`. The notice to the administrators of the workspace is written
 * from it.
 */

import { formatTimestamp } from '../../base/platform/clock.js'
import { prepareWrite, type StatementBuilder } from '../../base/storage/db/prepared.js'
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

type Disabling = WebhookRef & { reason: DisabledReason; at: Timestamp }

function disableIf<Values extends Disabling>({ db, slot }: StatementBuilder<Values>) {
  return db
    .updateTable('webhooks')
    .set({ enabled: 0, disabled_reason: slot('reason'), updated_at: slot('at') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id'))
    .where('enabled', '=', 1)
}

const disable = prepareWrite<Disabling>(disableIf, 1)

/** Another node may have had success in the meantime, or has noted a later time. */
const disableFailing = prepareWrite<Disabling & { since: Timestamp }>(
  (builder) =>
    disableIf(builder)
      .where('failing_since', '=', builder.slot('since'))
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('webhook_cursors')
              .select('slot')
              .where('webhook_id', '=', builder.slot('id'))
              .where('last_status', '=', 'delivered')
              .where('last_at', '>', builder.slot('since')),
          ),
        ),
      ),
  1,
)

const restartFailing = prepareWrite<WebhookRef & { since: Timestamp; at: Timestamp }>(({ db, slot }) =>
  db
    .updateTable('webhooks')
    .set({ failing_since: slot('at') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id'))
    .where('enabled', '=', 1)
    .where('failing_since', '=', slot('since')),
)

/** After `disableWebhook` has missed: an enabled webhook has had success since then, so it fails from now on. */
export function beginFailingAgain(webhook: Webhook, at: Timestamp): readonly Write[] {
  const { id, workspace_id: workspaceId, failing_since: since } = webhook
  return since === null ? [] : [restartFailing({ workspaceId, id, since, at })]
}

/** Misses when the webhook is disabled already or gone, or when it has not failed all the time. Then nothing is recorded. */
export function disableWebhook(webhook: Webhook, reason: DisabledReason, at: Timestamp): readonly Write[] {
  const { id, workspace_id: workspaceId, url, failing_since: since } = webhook
  const data = {
    webhook_id: id,
    url,
    reason,
    failing_since: since === null ? null : formatTimestamp(since),
  } satisfies WebhookDisabledData
  const disabling = { workspaceId, id, reason, at }
  return [
    reason === 'failing' && since !== null ? disableFailing({ ...disabling, since }) : disable(disabling),
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
