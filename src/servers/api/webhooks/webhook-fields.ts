/** The fields of webhooks and deliveries in requests and answers. No answer but two has the secret. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { suggestWord } from '../../../base/platform/closest-word.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { eventTypes } from '../../../records/events/payloads.js'
import type { ListedDelivery } from '../../../workspaces/webhooks/delivery-list.js'
import { webhookContents, webhookFormats } from '../../../workspaces/webhooks/settings/choices.js'
import {
  findHeaderFault,
  MAX_HEADERS,
  maskHeaders,
  readHeaders,
} from '../../../workspaces/webhooks/settings/own-headers.js'
import { showUrl } from '../../../workspaces/webhooks/settings/url-login.js'
import type { LastAttempt, Webhook } from '../../../workspaces/webhooks/webhook-records.js'
import { findUrlFault, MAX_URL_LENGTH } from '../../../workspaces/webhooks/webhook-url.js'
import { eventId } from '../events/event-schemas.js'
import { refuseEmptyList } from '../http/input/absent-fields.js'
import { notBoth, required } from '../http/input/field-rules.js'
import { goneSchema, timestamp, uuid } from '../http/input/values.js'

/** Each type counts once, so a longer list repeats some of them. */
const MAX_TYPES = 100

const eventType = z.enum(eventTypes)
/** Clients of Resend have a name of their own for a deferral. */
const requestedType = z.preprocess(
  (given) => (given === 'email.delivery_delayed' ? 'email.deferred' : given),
  z.enum(eventTypes, { error: ({ input }) => describeUnknownType(input) }),
)
export const eventTypeList = z
  .array(requestedType)
  .min(1)
  .max(MAX_TYPES)
  .transform((types) => [...new Set(types)])
  .meta({ description: 'Types of events; each counts once.', example: ['email.delivered', 'email.bounced'] })

function describeUnknownType(given: unknown): string {
  const meant = typeof given === 'string' ? suggestWord(given, eventTypes) : ''
  return `is not an event type, allowed: ${eventTypes.join(', ')}${meant}`
}

/** The rules for its host are checked when the request is run. */
const url = z
  .string()
  .max(MAX_URL_LENGTH)
  .regex(/^\P{Cs}*$/u, 'must be valid Unicode')
  .superRefine((text, context) => {
    const fault = text.length > MAX_URL_LENGTH ? null : findUrlFault(text)
    if (fault !== null) context.addIssue({ code: 'custom', message: fault })
  })
  .meta({
    description:
      'An https or http URL with a public host and no fragment; the port is 80, 443 or above 1023. Credentials in it are ' +
      'sent as Basic authentication and shown as `***`.',
    example: 'https://example.com/hooks/mail',
  })

const format = z.enum(webhookFormats).meta({
  description: 'The service whose requests it gets, our own form, or `raw`: inbound mail as `message/rfc822`.',
  example: 'posthorn',
})
const content = z.enum(webhookContents).meta({
  description: 'How much of an inbound message goes with `email.received`.',
  example: 'none',
})

const headers = z
  .record(z.string(), z.string())
  .superRefine((fields, context) => {
    const entries = Object.entries(fields)
    if (entries.length > MAX_HEADERS)
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_HEADERS} fields` })
    const names = new Set<string>()
    for (const [name, value] of entries.slice(0, MAX_HEADERS)) {
      const twice = names.has(name.toLowerCase())
      names.add(name.toLowerCase())
      const fault = twice ? `must have ${name} once: case does not count` : findHeaderFault(name, value)
      if (fault !== null) context.addIssue({ code: 'custom', message: fault })
    }
  })
  .meta({
    description: 'Header fields that go with each request, by name. Values are secret: answers show `***`.',
    example: { 'X-Token': '***' },
  })

const settings = { format: format.optional(), content: content.optional(), headers: headers.optional() }

const endpoint = url
  .optional()
  .meta({ description: 'Another name of `url`, of clients of Resend. The default of `format` is `resend` with it.' })

export const webhookRequest = z
  .strictObject({ url: url.optional(), endpoint, events: eventTypeList, ...settings })
  .check(required('url', 'endpoint'), notBoth('url', 'endpoint'))
  .meta({ id: 'WebhookRequest', example: { url: 'https://example.com/hooks/mail', events: ['email.bounced'] } })

export const webhookChange = z
  .strictObject({
    url: url.optional(),
    endpoint,
    events: refuseEmptyList(eventTypeList.optional()),
    enabled: z.boolean().optional(),
    status: z.enum(['enabled', 'disabled']).optional().meta({ description: 'In place of `enabled`.' }),
    ...settings,
  })
  .check(notBoth('url', 'endpoint'), notBoth('enabled', 'status', 'says what enabled says: give one'))
  .meta({ id: 'WebhookChange', example: { events: ['email.delivered', 'email.bounced'] } })

const webhookId = z
  .string()
  .regex(/^wh_[0-9a-f-]{36}$/)
  .meta({ example: 'wh_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })
const signingSecret = z.string().meta({
  description: 'Signs the requests. Shown only here.',
  example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwdA3b8xJpX0A=',
})

const common = {
  object: z.literal('webhook'),
  id: webhookId,
  url: z.string(),
  endpoint: z.string().meta({ example: 'https://example.com/hooks/mail' }),
  events: z.array(eventType),
  format,
  content,
  headers: z.record(z.string(), z.string()).meta({ example: {} }),
  verification_key: z.string().nullable().meta({
    description: 'The public key that verifies requests of the format `sendgrid`; null with other formats.',
    example: null,
  }),
  created_at: timestamp,
}

export const createdWebhook = z
  .strictObject({ ...common, signing_secret: signingSecret })
  .meta({ id: 'CreatedWebhook' })

const deliveryStatus = z.enum(['pending', 'delivered', 'failed'])

export const webhook = z
  .strictObject({
    ...common,
    enabled: z.boolean(),
    status: z.enum(['enabled', 'disabled']),
    disabled_reason: z.enum(['gone', 'failing']).nullable().meta({
      description:
        'Why the service disabled it: `gone`, the endpoint answered 410; `failing`, three days without a success.',
      example: null,
    }),
    failing_since: timestamp.nullable().meta({
      description: 'The time from which every attempt failed; null: the last one succeeded, or there was none.',
      example: null,
    }),
    updated_at: timestamp,
    last_delivery: z
      .strictObject({
        status: deliveryStatus,
        at: timestamp,
        response_status: z.int().nullable().meta({ example: 200 }),
      })
      .nullable(),
  })
  .meta({ id: 'Webhook' })

export const deletedWebhook = goneSchema('webhook', webhookId)
export const rotatedSecret = z.strictObject({ signing_secret: signingSecret })
export const requestedDelivery = z.strictObject({ delivery_id: uuid })

const deliveryFields = {
  id: uuid,
  event_id: eventId,
  type: z.string().meta({ description: 'Type of the event, or `webhook.test`.', example: 'email.delivered' }),
  status: deliveryStatus,
  attempts: z.int(),
  next_attempt_at: timestamp.nullable(),
  response_status: z.int().nullable().meta({ example: 200 }),
  response_body: z.string().nullable().meta({ description: 'Its first 4 KB.', example: 'ok' }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'Why the last attempt failed; null if it succeeded.', example: null }),
  created_at: timestamp,
  delivered_at: timestamp.nullable(),
}

export const delivery = z.strictObject(deliveryFields).meta({ id: 'WebhookDelivery' })

export const shownDelivery = z
  .strictObject({
    ...deliveryFields,
    request: z
      .strictObject({
        content_type: z.string().meta({ example: 'application/json' }),
        body: z.string().meta({ example: '{"id":"evt_1","type":"email.delivered","data":{}}' }),
      })
      .nullable()
      .meta({
        description:
          'The body of its requests, made again from the event and the present format: without links that expire, and without a valid signature in it. Null: the event is older than `retention.events`, or the body is a received message.',
      }),
  })
  .meta({ id: 'ShownWebhookDelivery' })

type CommonFields = Pick<z.output<typeof webhook>, keyof typeof common>

function toCommonFields(row: Webhook): CommonFields {
  const shown = showUrl(row.url, row.login)
  return {
    object: 'webhook',
    id: row.id,
    url: shown,
    endpoint: shown,
    events: [...parseJson(row.events)],
    format: row.format,
    content: row.content,
    headers: maskHeaders(readHeaders(row.headers)),
    verification_key: row.format === 'sendgrid' ? row.verification_key : null,
    created_at: iso(row.created_at),
  }
}

export function toCreatedWebhook(row: Webhook): z.output<typeof createdWebhook> {
  return { ...toCommonFields(row), signing_secret: row.secret }
}

export function toWebhookResource(row: Webhook, last: LastAttempt | undefined): z.output<typeof webhook> {
  const { last_at: lastAt = null, last_status: lastStatus = null, last_response_status: response = null } = last ?? {}
  return {
    ...toCommonFields(row),
    enabled: row.enabled === 1,
    status: row.enabled === 1 ? 'enabled' : 'disabled',
    disabled_reason: row.disabled_reason,
    failing_since: isoOrNull(row.failing_since),
    updated_at: iso(row.updated_at),
    last_delivery:
      lastAt === null || lastStatus === null
        ? null
        : { status: lastStatus, at: iso(lastAt), response_status: response },
  }
}

export function toDeliveryResource(row: ListedDelivery): z.output<typeof delivery> {
  const { id, event_id, type, status, attempts, response_status, response_body, error } = row
  return {
    ...{ id, event_id, type, status, attempts },
    next_attempt_at: isoOrNull(row.next_attempt_at),
    ...{ response_status, response_body, error },
    created_at: iso(row.created_at),
    delivered_at: isoOrNull(row.delivered_at),
  }
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at)
}
