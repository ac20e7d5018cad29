/** The payloads of events as schemas, for the OpenAPI document: each has the type that the writers of events use. */
import { z } from 'zod'
import { reasons } from '../../../base/mail/reasons.js'
import type { EventType } from '../../../base/storage/tables/email-tables.js'
import type { EventPayloads } from '../../../records/events/payloads.js'
import { suppressionReasons } from '../../../records/suppressions/suppressions.js'
import { emailId, timestamp, uuid } from '../http/input/values.js'
import { summaryFields } from '../inbound/list.js'

export const eventId = z.string().meta({ example: 'evt_01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })

const emailFields = {
  email_id: emailId,
  from: z.string(),
  to: z.string().meta({ description: 'The recipient.' }),
  subject: z.string(),
  tags: z.record(z.string(), z.union([z.string(), z.array(z.string())])).meta({
    description: 'Values by name; a list, in their order, where several tags have the name.',
    example: { campaign: 'spring' },
  }),
}

const reason = z
  .enum(reasons)
  .meta({ id: 'Reason', description: 'The classified reason. Later versions may add words.' })
  .nullable()
const response = z.string().meta({ description: 'What the server answered, or what went wrong.' })

const checkFields = {
  check: z.string().meta({ example: 'ptr' }),
  subject: z.string().meta({ description: 'What was looked at.', example: '192.0.2.1' }),
  node: z.string().optional().meta({ description: 'The node that looked, where nodes have names.' }),
}

const sendingFields = {
  scope: z.enum(['workspace', 'domain', 'broadcast']).meta({ example: 'domain' }),
  id: z.string().meta({
    description: "The workspace's id, the domain of the sender, or the broadcast's id.",
    example: 'example.com',
  }),
  cause: z.enum(['bounces', 'complaints']).meta({ example: 'bounces' }),
  messages: z.int().meta({ description: 'Messages of the window.', example: 1000 }),
  failures: z.int().meta({ description: 'Of them, those that bounced or were reported as spam.', example: 124 }),
  percent: z.number().meta({ example: 12.4 }),
  limit_percent: z.number().meta({ description: 'What `percent` was over.', example: 10 }),
  window_hours: z.int().meta({ description: '24 for bounces, 168 for complaints.', example: 24 }),
}

const smsFields = {
  sms_id: z.string().meta({ example: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c' }),
  phone: z.string().meta({ description: 'E.164.', example: '+4915123456789' }),
  country: z.string().meta({ description: 'ISO 3166-1 alpha-2.', example: 'DE' }),
  encoding: z.enum(['gsm', 'ucs2']),
  segments: z.int().meta({ description: 'What the text counts for.', example: 1 }),
  metadata: z.record(z.string(), z.unknown()).meta({ description: 'As given with the request.', example: {} }),
}

/** A request for the pixel or for a link. */
const requestFields = {
  email_id: emailId,
  to: z.string().meta({ description: 'The recipient; the first one if several share the message.' }),
  broadcast_id: uuid.optional().meta({ description: 'Of a message of a broadcast only.' }),
  user_agent: z.string().nullable().meta({ example: 'Mozilla/5.0 (X11; Linux x86_64)' }),
  ip_address: z.string().nullable().meta({ example: '192.0.2.7' }),
  machine: z.boolean().meta({
    description: 'Made by a program that loads or scans mail. Such events set no `opened_at` and no `clicked_at`.',
    example: false,
  }),
}

const target = z.string().meta({ description: 'The URL that the link leads to.', example: 'https://example.com/offer' })

const hookOnly = 'In requests to webhooks only.'

const received = {
  inbound_email_id: uuid.meta({ description: 'For `GET /v1/inbound/{id}`.' }),
  ...summaryFields,
  message_id: z.string().nullable().meta({ example: '<d1f3@example.org>' }),
  in_reply_to: z.string().nullable().meta({ example: null }),
  references: z.array(z.string()).meta({ description: 'Message ids of the thread, oldest first.', example: [] }),
  envelope_to: z.array(z.string()).meta({
    description: 'Your addresses in the envelope.',
    example: ['support+1742@example.com'],
  }),
  plus: z.string().nullable().meta({
    description: 'What stands behind `+` in the first of them that has one.',
    example: '1742',
  }),
  spam_status: z.enum(['clean', 'suspicious', 'spam']).nullable(),
  spam_score: z.number().nullable(),
  attachments: z
    .array(
      z.object({
        id: z.string(),
        filename: z.string(),
        content_type: z.string(),
        size: z.int(),
        download_url: z
          .string()
          .optional()
          .meta({ description: `${hookOnly} Needs no key, for an hour.` }),
      }),
    )
    .meta({ description: 'The first 100.', example: [] }),
  raw_url: z
    .string()
    .optional()
    .meta({ description: `${hookOnly} The message; needs no key, for an hour.` }),
  html: z
    .string()
    .nullish()
    .meta({ description: `${hookOnly} With \`content: "parsed"\`.` }),
  text: z
    .string()
    .nullish()
    .meta({ description: `${hookOnly} With \`content: "parsed"\`.` }),
  headers: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .optional()
    .meta({ description: `${hookOnly} With \`content: "parsed"\`.` }),
  raw: z
    .string()
    .nullish()
    .meta({ description: `${hookOnly} With \`content: "raw"\`: the message in base64; null above 25 MB.` }),
}

const finding = z
  .object({
    type: z.literal('CNAME'),
    name: z.string().meta({ example: 'dkim1._domainkey.example.com' }),
    expected: z.string().meta({ example: 'dkim1.mx.example.net' }),
    found: z.string().nullable().meta({ example: 'dkim1.mx.example.net' }),
    status: z.enum(['pending', 'verified', 'failed']).meta({ example: 'verified' }),
  })
  .meta({ id: 'RecordFinding' })

const domainStatus = z.enum(['pending', 'verified', 'failed'])

const domainFields = {
  domain_id: uuid,
  domain: z.string(),
  status: domainStatus.meta({ description: 'After the check.' }),
  asked: z.boolean().meta({ description: 'A user asked for the check.' }),
  records: z.array(finding).meta({ description: 'Empty: the operator decided, without DNS.' }),
}

/** `data` by type. It does not compile if a schema and a payload differ. */
export const payloadSchemas = {
  'email.queued': z.object(emailFields).meta({ id: 'EmailQueuedData' }),
  'email.suppressed': z
    .object({ ...emailFields, reason: z.enum(suppressionReasons).meta({ example: 'hard_bounce' }) })
    .meta({ id: 'EmailSuppressedData' }),
  'email.sent': z.object({ ...emailFields, sent_at: timestamp }).meta({ id: 'EmailSentData' }),
  'email.delivered': z.object({ ...emailFields, delivered_at: timestamp }).meta({ id: 'EmailDeliveredData' }),
  'email.deferred': z
    .object({
      ...emailFields,
      reason: reason.meta({ example: 'greylisted' }),
      response: response.meta({ example: '450 4.2.0 greylisted, try again later' }),
      attempts: z.int().meta({ description: 'How many there were.' }),
      next_attempt_at: timestamp
        .nullable()
        .meta({ description: 'Null: a later server is trying.', example: '2030-01-31T09:05:00.000Z' }),
    })
    .meta({ id: 'EmailDeferredData' }),
  'email.bounced': z
    .object({
      ...emailFields,
      bounce_type: z.enum(['hard', 'soft']).meta({ description: '`soft`: given up after temporary refusals.' }),
      bounce_subtype: reason.meta({ example: 'bad-mailbox' }),
      bounce_reason: response.meta({ example: '550 5.1.1 no such user' }),
    })
    .meta({ id: 'EmailBouncedData' }),
  'email.failed': z
    .object({
      ...emailFields,
      reason: reason.meta({ example: 'expired' }),
      response: response.nullable().meta({ example: 'connection refused' }),
    })
    .meta({ id: 'EmailFailedData' }),
  'email.complained': z
    .object({
      ...emailFields,
      feedback_type: z.string().meta({ description: 'As the report has it (RFC 5965).', example: 'abuse' }),
      complained_at: timestamp,
    })
    .meta({ id: 'EmailComplainedData' }),
  'email.opened': z.object({ ...requestFields, opened_at: timestamp }).meta({ id: 'EmailOpenedData' }),
  'email.clicked': z
    .object({
      ...requestFields,
      link: target,
      url: target.meta({ description: 'The same as `link`.' }),
      clicked_at: timestamp,
      referer: z.string().nullable().meta({ example: null }),
    })
    .meta({ id: 'EmailClickedData' }),
  'email.unsubscribed': z
    .object({
      ...emailFields,
      unsubscribed_at: timestamp,
      broadcast_id: uuid.nullable().meta({ description: 'Null: the email is not a message of a broadcast.' }),
      contact_id: uuid.nullable().meta({ description: 'The contact to whom the broadcast was sent.' }),
    })
    .meta({ id: 'EmailUnsubscribedData' }),
  'email.received': z.object(received).meta({ id: 'EmailReceivedData' }),
  'domain.verified': z.object({ ...domainFields, verified_at: timestamp }).meta({ id: 'DomainVerifiedData' }),
  'domain.failed': z
    .object({ ...domainFields, status: domainStatus.meta({ example: 'failed' }), failed_at: timestamp })
    .meta({ id: 'DomainFailedData' }),
  'sms.sent': z.object({ ...smsFields, sent_at: timestamp, expires_at: timestamp }).meta({ id: 'SmsSentData' }),
  'sms.delivered': z.object({ ...smsFields, delivered_at: timestamp }).meta({ id: 'SmsDeliveredData' }),
  'sms.failed': z
    .object({
      ...smsFields,
      reason: z.enum(['refused', 'silent', 'undelivered', 'interrupted']).meta({
        description:
          '`refused`: by the provider; `silent`: no answer in time; `undelivered`: by a receipt; `interrupted`: the service stopped.',
      }),
      failed_at: timestamp,
    })
    .meta({ id: 'SmsFailedData' }),
  'sms.verified': z.object({ ...smsFields, verified_at: timestamp }).meta({ id: 'SmsVerifiedData' }),
  'sending.warned': z.object(sendingFields).meta({ id: 'SendingWarnedData' }),
  'sending.held': z.object(sendingFields).meta({ id: 'SendingHeldData' }),
  'sending.released': z
    .object({
      ...sendingFields,
      held_at: timestamp,
      released_by: z
        .enum(['figures', 'person'])
        .meta({ description: '`figures`: they are under the limits again.', example: 'person' }),
    })
    .meta({ id: 'SendingReleasedData' }),
  'service.check_failed': z
    .object({
      ...checkFields,
      state: z.enum(['warn', 'fail']),
      text: z.string().meta({ example: 'the address has no reverse name (PTR)' }),
      remedy: z
        .array(z.string())
        .meta({ description: 'Commands or DNS records to copy.', example: ['dig -x 192.0.2.1'] }),
      checked_at: timestamp,
    })
    .meta({ id: 'ServiceCheckFailedData' }),
  'service.check_recovered': z
    .object({ ...checkFields, failed_at: timestamp, checked_at: timestamp })
    .meta({ id: 'ServiceCheckRecoveredData' }),
} as const satisfies { readonly [Type in keyof EventPayloads]: z.ZodType<EventPayloads[Type]> }

/** `EmailSent` of `email.sent`. */
export function pascalCaseOf(type: EventType): string {
  return type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
