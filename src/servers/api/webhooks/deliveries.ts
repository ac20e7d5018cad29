/** The routes of deliveries to a webhook: the list, a test event, and events that are delivered again. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { listDeliveries } from '../../../workspaces/webhooks/delivery-list.js'
import { readDelivery } from '../../../workspaces/webhooks/delivery-payload.js'
import { isKnownType } from '../../../workspaces/webhooks/formats/formats.js'
import { replayRange } from '../../../workspaces/webhooks/replay-range.js'
import { replayDelivery, requestTest } from '../../../workspaces/webhooks/request-delivery.js'
import { requireWebhook, type Webhook } from '../../../workspaces/webhooks/webhook-records.js'
import { json } from '../http/answer.js'
import { buildPage, idCursor, limit, pageSchema } from '../http/input/paging.js'
import { moment } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { delivery, eventTypeList, requestedDelivery, shownDelivery, toDeliveryResource } from './webhook-fields.js'
import { refOfCall, type WebhookDeps } from './webhooks.js'

const tag = 'Webhooks'

export function deliveryRoutes(deps: WebhookDeps): readonly Route[] {
  return [listRoute(deps), showRoute(deps), testRoute(deps), replayRoute(deps), replayRangeRoute(deps)]
}

const listQuery = z.strictObject({
  status: z.enum(['pending', 'delivered', 'failed']).optional().meta({ description: 'Only deliveries in this state.' }),
  limit,
  cursor: idCursor,
})

function listRoute({ read }: WebhookDeps): Route {
  return route({
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    area: 'admin-read',
    tag,
    summary: 'List the deliveries of a webhook, newest first',
    description: 'An event is listed after its first attempt; a test or a replay of one event from the start.',
    query: listQuery,
    answers: { 200: { description: 'A page.', schema: pageSchema(delivery) } },
    refusals: ['webhook_not_found'],
    run: async (call) => {
      const webhook = refOfCall(call)
      await requireWebhook(read, webhook)
      const { status, limit, cursor: after } = call.query
      const rows = await listDeliveries(read, { webhook, status, after, limit: limit + 1 })
      return json(
        200,
        buildPage(rows, limit, toDeliveryResource, ({ id }) => id),
      )
    },
  })
}

function showRoute({ read }: WebhookDeps): Route {
  return route({
    method: 'GET',
    path: '/webhooks/:id/deliveries/:deliveryId',
    area: 'admin-read',
    tag,
    summary: 'Show a delivery with the body of its requests',
    description: 'Bodies are not stored: this one is made again from the event.',
    params: { deliveryId: 'Id of the delivery.' },
    answers: { 200: { description: 'The delivery.', schema: shownDelivery } },
    refusals: ['webhook_not_found', 'not_found'],
    run: async (call) => {
      const { delivery: found, request } = await readDelivery(read, refOfCall(call), call.params['deliveryId'] ?? '')
      const shown = request === null ? null : { content_type: request.contentType, body: request.body }
      return json(200, { ...toDeliveryResource(found), request: shown })
    },
  })
}

function testRoute({ changes, ...store }: WebhookDeps): Route {
  return route({
    method: 'POST',
    path: '/webhooks/:id/test',
    area: 'admin',
    tag,
    summary: 'Deliver an event of the type webhook.test',
    description: 'It is delivered to this webhook alone, whatever its types are, and is attempted at once.',
    answers: { 200: { description: 'The delivery.', schema: requestedDelivery } },
    refusals: ['webhook_not_found', 'conflict'],
    run: async (call) => {
      const webhook = refOfCall(call)
      const deliveryId = await requestTest(store, webhook, call.now)
      await changes.webhookChanged(webhook)
      return json(200, { delivery_id: deliveryId })
    },
  })
}

function replayRoute({ changes, ...store }: WebhookDeps): Route {
  return route({
    method: 'POST',
    path: '/webhooks/:id/deliveries/:deliveryId/replay',
    area: 'admin',
    tag,
    summary: 'Deliver the event of a delivery again',
    description: 'The new delivery has a new id; the event in it is the same.',
    params: { deliveryId: 'Id of the delivery.' },
    answers: { 202: { description: 'The new delivery.', schema: requestedDelivery } },
    refusals: ['webhook_not_found', 'not_found', 'conflict'],
    run: async (call) => {
      const webhook = refOfCall(call)
      const { deliveryId: replayed = '' } = call.params
      const deliveryId = await replayDelivery(store, webhook, { deliveryId: replayed, at: call.now })
      await changes.webhookChanged(webhook)
      return json(202, { delivery_id: deliveryId })
    },
  })
}

const replayRequest = z
  .strictObject({
    from: moment.meta({ description: 'The first moment.', example: '2026-11-20T08:00:00Z' }),
    to: moment.meta({ description: 'The moment after the last one.', example: '2026-11-20T10:00:00Z' }),
    types: eventTypeList.optional().meta({ description: 'Some of the types of the webhook. Default: all of them.' }),
  })
  .superRefine(({ from, to }, context) => {
    if (from >= to) context.addIssue({ code: 'custom', path: ['to'], message: 'must be later than from' })
  })
  .meta({ id: 'ReplayRequest', example: { from: '2026-11-20T08:00:00Z', to: '2026-11-20T10:00:00Z' } })

function replayRangeRoute({ changes, ...store }: WebhookDeps): Route {
  return route({
    method: 'POST',
    path: '/webhooks/:id/replay',
    area: 'admin',
    tag,
    summary: 'Deliver the events of a time range again',
    description:
      'Oldest first, at the same time as new events. `count` is the number of events; the log holds those of `retention.events`.',
    body: replayRequest,
    answers: { 202: { description: 'How many there are.', schema: z.strictObject({ count: z.int() }) } },
    refusals: ['webhook_not_found', 'conflict'],
    run: async (call) => {
      const webhook = refOfCall(call)
      const { from, to, types } = call.body
      const chosen = chooseTypes(await requireWebhook(store.read, webhook), types)
      const count = await replayRange(store, webhook, { from, to, types: chosen }, call.now)
      await changes.webhookChanged(webhook)
      return json(202, { count })
    },
  })
}

/**
 * The types that are delivered again. Its format may not express each of them. Throws a Refusal that names each type
 * that the webhook does not have.
 */
function chooseTypes({ events, format }: Webhook, types: readonly EventType[] | undefined): readonly EventType[] {
  const subscribed = parseJson(events)
  const isDelivered = (type: EventType): boolean => isKnownType(format, type)
  if (types === undefined) return subscribed.filter(isDelivered)
  const message = `allowed: the types of the webhook: ${subscribed.join(', ')}`
  const errors = types.flatMap((value) => (subscribed.includes(value) ? [] : [{ field: 'types', message, value }]))
  if (errors.length > 0) throw new Refusal('invalid-parameter', `types: ${message}`, { errors })
  return types.filter(isDelivered)
}
