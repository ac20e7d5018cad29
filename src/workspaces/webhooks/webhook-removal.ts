/**
 * The removal of a webhook. The webhook is deleted at once, its deliveries afterwards.
 *
 * One commit deletes the webhook with its replays and records the removal. From then on nothing is delivered to it.
 * Small commits remove its deliveries and cursors, so that other commits go on at the same time. A removal that is cut off
 * resumes when the daemon starts.
 */
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import { RemovalRunner } from '../../base/storage/db/removal-runner.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { WebhookRef } from './webhook-records.js'

/** Deliveries of one commit. */
const BATCH_SIZE = 200

const removeWebhook = prepareWrite<WebhookRef>(
  ({ db, slot }) =>
    db.deleteFrom('webhooks').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

const removeReplays = prepareWrite<WebhookRef>(({ db, slot }) =>
  db.deleteFrom('webhook_replays').where('webhook_id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

const insertRemoval = prepareWrite<Tables['webhook_removals']>(({ db, slots }) =>
  db.insertInto('webhook_removals').values(slots(['webhook_id', 'workspace_id', 'created_at'])),
)

/** Misses when the webhook is deleted already. */
export function deleteWebhook(webhook: WebhookRef, at: number): readonly Write[] {
  const { workspaceId, id } = webhook
  return [
    removeWebhook(webhook),
    removeReplays(webhook),
    insertRemoval({ webhook_id: id, workspace_id: workspaceId, created_at: at }),
  ]
}

/** The removals of all workspaces that have not finished. At a start, these are the removals that were cut off. */
const pendingRemovals = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('webhook_removals').select(['workspace_id as workspaceId', 'webhook_id as id']),
)

const findAnyDelivery = prepareRead<WebhookRef>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .limit(1),
)

const removeDeliveryBatch = prepareWrite<WebhookRef>(({ db, slot }) =>
  db
    .deleteFrom('webhook_deliveries')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', slot('id'))
        .where('workspace_id', '=', slot('workspaceId'))
        .orderBy('id')
        .limit(BATCH_SIZE),
    ),
)

const removeCursors = prepareWrite<WebhookRef>(({ db, slot }) =>
  db.deleteFrom('webhook_cursors').where('webhook_id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

const finishRemoval = prepareWrite<WebhookRef>(({ db, slot }) =>
  db
    .deleteFrom('webhook_removals')
    .where('webhook_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Rejects with the signal's reason when the signal aborts between two commits. */
async function removeDeliveries({ read, commit }: Store, webhook: WebhookRef, signal: AbortSignal): Promise<void> {
  while ((await findAnyDelivery(read, webhook)).length > 0) {
    signal.throwIfAborted()
    await commit([removeDeliveryBatch(webhook)])
  }
  await commit([removeCursors(webhook), finishRemoval(webhook)])
}

export type WebhookRemovalRunner = RemovalRunner<WebhookRef>

interface WebhookRemovalDeps extends Store {
  readonly log: Pick<Log, 'error'>
  /** Milliseconds that a deletion waits at most. */
  readonly maxWait?: number
  /** Milliseconds from a fault to the next try. */
  readonly retryDelay?: number
}

export function createWebhookRemovalRunner(deps: WebhookRemovalDeps): WebhookRemovalRunner {
  const { read, commit, log, maxWait, retryDelay } = deps
  return new RemovalRunner<WebhookRef>({
    listPending: async () => pendingRemovals(read, {}),
    idOf: ({ id }) => id,
    remove: (webhook, signal) => removeDeliveries({ read, commit }, webhook, signal),
    onFault: (err, { workspaceId: workspace, id: webhook }) =>
      log.error({ err, workspace, webhook }, 'deliveries of a deleted webhook cannot be removed now'),
    maxWait,
    retryDelay,
  })
}
