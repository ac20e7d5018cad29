/**
 * The rows of deliveries, as the dispatcher writes and reads them. A *delivery* of a webhook is one event for it,
 * with its attempts.
 *
 * A delivery from the event log gets its row with the outcome of its first attempt. A test and a replay of one
 * delivery are rows from the start. We write rows only while their webhook exists, so a deleted webhook leaves none
 * behind.
 */
import { sql } from 'kysely'
import { firstUuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import type { DeliveryResult } from './decide-delivery.js'
import type { LoggedEvent } from './event-pages.js'
import type { WebhookRef } from './webhook-records.js'

type Row = Omit<Tables['webhook_deliveries'], 'node'>
type NewDelivery = Row & { readonly webhook: string }

const columns = [
  'id',
  'workspace_id',
  'webhook_id',
  'event_seq',
  'event_id',
  'type',
  'status',
  'attempts',
  'next_attempt_at',
  'response_status',
  'response_body',
  'error',
  'created_at',
  'delivered_at',
] as const

const insert = prepareWrite<NewDelivery>(({ db, slot }) =>
  db
    .insertInto('webhook_deliveries')
    .columns(columns)
    .expression(
      db
        .selectFrom('webhooks')
        .select((eb) => columns.map((name) => eb.val(slot(name)).as(name)))
        .where('webhooks.id', '=', slot('webhook'))
        .where('webhooks.workspace_id', '=', slot('workspace_id')),
    )
    // After a crash, the first attempt may be settled twice.
    .onConflict((conflict) => conflict.column('id').doNothing()),
)

interface FirstAttempt {
  readonly webhook: WebhookRef
  readonly deliveryId: string
  readonly event: LoggedEvent
  readonly at: number
}

export function insertAttempted({ webhook, deliveryId, event, at }: FirstAttempt, result: DeliveryResult): Write {
  return insert({
    ...result,
    id: deliveryId,
    workspace_id: webhook.workspaceId,
    webhook_id: webhook.id,
    webhook: webhook.id,
    event_seq: event.seq,
    event_id: event.id,
    type: event.type,
    created_at: at,
  })
}

/** Stores the outcome of a later attempt. */
export const settleDelivery = prepareWrite<DeliveryResult & { id: string; webhookId: string; workspaceId: string }>(
  ({ db, slot, slots }) =>
    db
      .updateTable('webhook_deliveries')
      .set(
        slots(['status', 'attempts', 'next_attempt_at', 'response_status', 'response_body', 'error', 'delivered_at']),
      )
      .where('id', '=', slot('id'))
      .where('webhook_id', '=', slot('webhookId'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'pending'),
)

const findDelivery = prepareRead<{ id: string; webhookId: string }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('id', '=', slot('id'))
    .where('webhook_id', '=', slot('webhookId')),
)

export async function isDeliveryStored(read: Read, id: string, webhookId: string): Promise<boolean> {
  return (await findDelivery(read, { id, webhookId })).length > 0
}

/** The waiting deliveries of a webhook on which one node works. */
interface Waiting {
  readonly webhookId: string
  readonly node: string
}

/** Deliveries whose next attempt is due, with their events. The data is absent if the log has removed the event. */
export const dueDeliveries = prepareRead<Waiting & { now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .leftJoin('events', (join) =>
      join
        .onRef('events.seq', '=', 'webhook_deliveries.event_seq')
        .onRef('events.workspace_id', '=', 'webhook_deliveries.workspace_id'),
    )
    .select(['webhook_deliveries.id', 'webhook_deliveries.event_seq as seq', 'webhook_deliveries.event_id'])
    .select(['webhook_deliveries.type', 'webhook_deliveries.attempts', 'webhook_deliveries.next_attempt_at'])
    .select(['events.created_at as event_created_at', 'events.data'])
    .where('webhook_deliveries.node', '=', slot('node'))
    .where('webhook_deliveries.webhook_id', '=', slot('webhookId'))
    // SQLite uses the partial index only for a literal.
    .where('webhook_deliveries.status', '=', sql.lit('pending' as const))
    .where('webhook_deliveries.next_attempt_at', '<=', slot('now'))
    .orderBy('webhook_deliveries.next_attempt_at')
    .limit(slot('limit')),
)

export type DueDelivery = Awaited<ReturnType<typeof dueDeliveries>>[number]

const nextDue = prepareRead<Waiting & { after: number }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .select('next_attempt_at')
    .where('node', '=', slot('node'))
    .where('webhook_id', '=', slot('webhookId'))
    .where('status', '=', sql.lit('pending' as const))
    .where('next_attempt_at', '>', slot('after'))
    .orderBy('next_attempt_at')
    .limit(1),
)

/** When the first attempt later than `after` is due. It is infinite if none waits. */
export async function readNextDue(read: Read, waiting: Waiting, after = 0): Promise<number> {
  return (await nextDue(read, { ...waiting, after }))[0]?.next_attempt_at ?? Number.POSITIVE_INFINITY
}

/** Makes deliveries due that wait for longer than any wait lasts: their time was computed while the clock was ahead. */
export const makeFutureDeliveriesDue = prepareWrite<{ node: string; now: number; latest: number }>(({ db, slot }) =>
  db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: slot('now') })
    .where('node', '=', slot('node'))
    .where('status', '=', sql.lit('pending' as const))
    .where('next_attempt_at', '>', slot('latest')),
)

const BATCH_SIZE = 200

const deliveriesBefore = prepareRead<{ before: string }>()(({ db, slot }) =>
  db.selectFrom('webhook_deliveries').select('id').where('id', '<', slot('before')).orderBy('id').limit(BATCH_SIZE),
)

const removeDeliveriesUpTo = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('webhook_deliveries').where('id', '<=', slot('id')),
)

/** Removes some deliveries of events older than `before`. Resolves to whether there may be more. */
export async function removeOldDeliveries({ read, commit }: Store, before: number): Promise<boolean> {
  const old = await deliveriesBefore(read, { before: firstUuidv7(before) })
  const last = old.at(-1)
  if (last !== undefined) await commit([removeDeliveriesUpTo({ id: last.id })])
  return old.length === BATCH_SIZE
}
