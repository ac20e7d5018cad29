/** The section `webhooks` of the OpenAPI document: the request that an endpoint receives, for each type of event. */
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import { describeEvent, eventTypes } from '../../../records/events/payloads.js'
import { eventId, pascalCaseOf, payloadSchemas } from '../events/event-schemas.js'
import { timestamp, uuid } from '../http/input/values.js'
import { exampleOf } from './example.js'

const headers = z.object({
  'X-Service-Signature': z.string().meta({
    description: '`sha256=` and the HMAC-SHA256 of the body in lowercase hex, keyed with the signing secret.',
    example: `sha256=${'0f'.repeat(32)}`,
  }),
  'webhook-id': z.string().meta({
    description: 'The id of the event, the same in every attempt (Standard Webhooks).',
    example: 'evt_01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
  }),
  'webhook-timestamp': z.string().meta({ description: 'Seconds since 1970, of the attempt.', example: '1896080400' }),
  'webhook-signature': z.string().meta({
    description: '`v1,` and the base64 signature of id, timestamp and body; several after a rotation, by blanks.',
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  }),
  'X-Service-Delivery': uuid.meta({ description: 'The id of the delivery, the same in every attempt. Not signed.' }),
  'X-Service-Attempt': z.string().meta({ description: 'Which attempt it is, from 1. Not signed.', example: '1' }),
})

const created_at = timestamp.meta({ description: 'When the event entered the log.' })

function schemaOf(type: EventType): z.ZodObject {
  return z
    .object({ id: eventId, type: z.literal(type), created_at, data: payloadSchemas[type] })
    .meta({ id: `${pascalCaseOf(type)}Webhook` })
}

export function describeWebhooks(): ZodOpenApiPathsObject {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: toOperation(type) }]))
}

function toOperation(type: EventType): ZodOpenApiOperationObject {
  const schema = schemaOf(type)
  return {
    tags: ['Events'],
    summary: describeEvent(type),
    operationId: `on_${type.replace('.', '_')}`,
    // Signed, not authorized with a key.
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: { 'application/json': { schema, example: exampleOf(schema).value } },
    },
    responses: {
      '2XX': { description: 'The event was received.' },
      '410': { description: 'The endpoint is gone: the webhook is switched off.' },
      default: { description: 'The event is sent again later.' },
    },
  }
}
