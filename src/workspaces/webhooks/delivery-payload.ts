/**
 * One delivery with the body of its requests, which is made again from the event and from the present settings of the
 * webhook. Bodies are not stored.
 *
 * Signatures within the body are made without the secret, because members without rights over the webhook see it. Times of
 * the attempt are that of the last change, and links of `email.received`, which expire, are left out.
 */
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { ListedDelivery } from './delivery-list.js'
import { findEmailFacts } from './email-facts.js'
import { composeEvent, isKnownType, needsEmail } from './formats/formats.js'
import { buildDeliveryNotFound } from './request-delivery.js'
import { requireWebhook, type WebhookRef } from './webhook-records.js'

const deliveryWithEvent = prepareRead<WebhookRef & { readonly deliveryId: string }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .leftJoin('events', 'events.seq', 'webhook_deliveries.event_seq')
    .selectAll('webhook_deliveries')
    .select(['events.data as data', 'events.created_at as event_created_at'])
    .where('webhook_deliveries.id', '=', slot('deliveryId'))
    .where('webhook_deliveries.webhook_id', '=', slot('id'))
    .where('webhook_deliveries.workspace_id', '=', slot('workspaceId')),
)

interface RequestBody {
  readonly contentType: string
  readonly body: string
}

interface ShownDelivery {
  readonly delivery: ListedDelivery
  /** Null if the event is gone, or if the body is a received message. */
  readonly request: RequestBody | null
}

/** Throws a Refusal: `webhook-not-found`, or `not-found` for the delivery. */
export async function readDelivery(read: Read, ref: WebhookRef, deliveryId: string): Promise<ShownDelivery> {
  const webhook = await requireWebhook(read, ref)
  const [found] = await deliveryWithEvent(read, { ...ref, deliveryId })
  if (found === undefined) throw buildDeliveryNotFound(deliveryId)
  const { data, event_created_at: createdAt, event_id: id, type } = found
  const { format, workspace_id: workspaceId } = webhook
  const isMessage = type === 'email.received' && format !== 'posthorn' && format !== 'resend'
  if (data === null || createdAt === null || isMessage || !isKnownType(format, type)) {
    return { delivery: found, request: null }
  }
  const email = needsEmail(format) ? await findEmailFacts(read, workspaceId, data) : null
  const at = found.delivered_at ?? found.created_at
  const { body, contentType } = composeEvent(format, { id, type, createdAt, data, at, secret: '', email })
  return { delivery: found, request: { contentType, body: body.toString() } }
}
