/**
 * Deliveries that a user requests: a test event, and an event that is delivered once more.
 *
 * Each is a row that is due now, and the dispatcher attempts it like a retry. The statement that inserts it takes
 * the event from the log. It misses if the event is gone, or if the webhook is disabled or gone.
 */
import { type Compilable, type RawBuilder, sql } from 'kysely'
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { hasText, newestNumberOf } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { tryCommit } from '../../base/storage/db/write.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import type { DeliveryStatus } from '../../base/storage/tables/webhook-tables.js'
import { recordNewestEvent } from '../../records/events/event-log.js'
import { requireEnabledWebhook, requireWebhook, type WebhookRef } from './webhook-records.js'

type Requested = WebhookRef & { readonly deliveryId: string; readonly at: Timestamp }

const columns = [
  ...(['id', 'workspace_id', 'webhook_id', 'event_seq', 'event_id', 'type', 'status'] as const),
  ...(['attempts', 'next_attempt_at', 'created_at'] as const),
] as const

/** Inserts a delivery of the event with this `seq`, if the webhook is enabled. */
function insertDue<Values extends Requested>(
  { db, slot }: StatementBuilder<Values>,
  seq: RawBuilder<number>,
): Compilable {
  const isEnabled = sql<boolean>`exists (select 1 from webhooks where id = ${slot('id')}
    and workspace_id = ${slot('workspaceId')} and enabled = 1)`
  const row = db
    .selectFrom('events')
    .select((eb) => [
      eb.val(slot('deliveryId')).as('id'),
      'workspace_id',
      eb.val(slot('id')).as('webhook_id'),
      'seq',
      'events.id as event_id',
      'type',
      eb.val<DeliveryStatus>('pending').as('status'),
      eb.lit(0).as('attempts'),
      eb.val(slot('at')).as('next_attempt_at'),
      eb.val(slot('at')).as('created_at'),
    ])
    .where('seq', '=', seq)
    .where('workspace_id', '=', slot('workspaceId'))
    .where(isEnabled)
  return db.insertInto('webhook_deliveries').columns(columns).expression(row)
}

/** This write comes after the write of the event, in the same commit. */
const insertForNewest = prepareWrite<Requested>((builder) => insertDue(builder, newestNumberOf('events', 'seq')), 1)

/**
 * Delivers the event `email.received` of the previous write to a webhook, even if the webhook does not subscribe to
 * the type. Does nothing if the webhook is disabled or gone.
 */
export const deliverReceived = prepareWrite<Requested>((builder) => {
  const { slot } = builder
  const isOther = sql<boolean>`not exists (select 1 from webhooks where id = ${slot('id')}
    and ${hasText('webhooks.events', 'email.received')})`
  return insertDue(builder, sql<number>`(select case when ${isOther} then ${newestNumberOf('events', 'seq')} end)`)
})

const insertForSeq = prepareWrite<Requested & { readonly seq: number }>(
  (builder) => insertDue(builder, sql<number>`${builder.slot('seq')}`),
  1,
)

/**
 * Resolves to the id of the delivery. Throws a Refusal: `webhook-not-found`, or `conflict` if the webhook is
 * disabled.
 */
export async function requestTest({ read, commit }: Store, webhook: WebhookRef, at: Timestamp): Promise<string> {
  await requireEnabledWebhook(read, webhook)
  const { workspaceId, id } = webhook
  const deliveryId = uuidv7(at)
  const data = { webhook_id: id, message: 'This event tests the webhook.' }
  const event = recordNewestEvent({ workspaceId, type: 'webhook.test', emailId: null, recipient: null, at, data })
  if (await tryCommit(commit([event, insertForNewest({ ...webhook, deliveryId, at })]))) return deliveryId
  await requireEnabledWebhook(read, webhook)
  throw buildChanged(webhook)
}

const eventOfDelivery = prepareRead<WebhookRef & { readonly deliveryId: string }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .leftJoin('events', 'events.seq', 'webhook_deliveries.event_seq')
    .select(['webhook_deliveries.event_id', 'events.seq'])
    .where('webhook_deliveries.id', '=', slot('deliveryId'))
    .where('webhook_deliveries.webhook_id', '=', slot('id'))
    .where('webhook_deliveries.workspace_id', '=', slot('workspaceId')),
)

/**
 * Delivers the event of a delivery once more, as a new delivery, and resolves to the id of the new one. Throws a
 * Refusal: `webhook-not-found`, `not-found` for the delivery, or `conflict` if the webhook is disabled or the event
 * is gone.
 */
export async function replayDelivery(
  { read, commit }: Store,
  webhook: WebhookRef,
  { deliveryId: replayed, at }: { readonly deliveryId: string; readonly at: Timestamp },
): Promise<string> {
  await requireWebhook(read, webhook)
  const [found] = await eventOfDelivery(read, { ...webhook, deliveryId: replayed })
  if (found === undefined) throw buildDeliveryNotFound(replayed)
  await requireEnabledWebhook(read, webhook)
  const { seq, event_id: eventId } = found
  if (seq === null) throw buildEventGone(eventId)
  const deliveryId = uuidv7(at)
  if (await tryCommit(commit([insertForSeq({ ...webhook, deliveryId, seq, at })]))) return deliveryId
  await requireEnabledWebhook(read, webhook)
  throw buildEventGone(eventId)
}

export function buildDeliveryNotFound(id: string): Refusal {
  return new Refusal('not-found', `no such delivery: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}

function buildEventGone(eventId: string): Refusal {
  const message = `the event ${eventId} is older than retention.events and no longer in the log`
  return new Refusal('conflict', message, { event_id: eventId })
}

/** The webhook was disabled and enabled again while the request was processed. */
function buildChanged({ id }: WebhookRef): Refusal {
  return new Refusal('conflict', 'the webhook changed while it was tested: try again', { id })
}
