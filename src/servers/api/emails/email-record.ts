/** An email as GET /v1/emails/:id shows it, with its recipients and their delivery attempts. */
import { z } from 'zod'
import type { EmailStatus, RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import type { RecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import type { EmailResource } from '../../../records/messages/email-resource.js'
import { lastEvent, lastEventOf } from './last-event.js'

const commonStatuses = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'cancelled',
] as const satisfies readonly (EmailStatus & RecipientStatus)[]

export const emailStatus = z.enum([...commonStatuses, 'complained'])
export const recipientStatus = z.enum([...commonStatuses, 'suppressed'])

const count = z.int().min(0)

export const recipientCounts = z
  .object({
    queued: count.meta({
      example: 0,
      description: 'Wait for an attempt, or for the time of a scheduled email.',
    }),
    sent: count.meta({
      example: 0,
      description: 'Accepted by a host that is no MX of their domain.',
    }),
    delivered: count.meta({ example: 2 }),
    bounced: count.meta({ example: 1 }),
    failed: count.meta({ example: 0 }),
    suppressed: count.meta({
      example: 0,
      description: 'On the suppression list: not tried, or no more.',
    }),
    cancelled: count,
    complained: count.meta({
      example: 0,
      description: 'Reported the email as spam; they count in no other state.',
    }),
  } satisfies Record<keyof RecipientCounts, z.ZodType>)
  .meta({ id: 'RecipientCounts', description: 'How many recipients are in each state. Each counts once.' })

const moment = z.iso.datetime()

export const attempt = z
  .object({
    number: z.int(),
    at: moment,
    duration_ms: z.int(),
    mx: z.string().nullable(),
    tls: z
      .string()
      .nullable()
      .meta({ description: 'Such as `TLSv1.3`, or `TLSv1.3, verified by DANE`; null: plain text.' }),
    outcome: z.enum(['delivered', 'sent', 'deferred', 'bounced', 'failed']),
    reason: z.string().nullable().meta({ example: null }),
    response: z.string(),
    next_attempt_at: moment.nullable(),
  })
  .meta({ id: 'DeliveryAttempt' })

const recipient = z
  .object({
    email: z.string(),
    status: recipientStatus,
    attempts: z.int().meta({ description: 'How many there were.' }),
    last_response: z.string().nullable(),
    mx: z.string().nullable(),
    next_attempt_at: moment.nullable(),
    delivered_at: moment.nullable(),
    attempt_log: z.array(attempt),
  })
  .meta({ id: 'Recipient' })

/** The type of the record checks it: it does not compile if the document lacks a field. */
export const emailFields = {
  id: z.string(),
  message_id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()).meta({ example: [] }),
  bcc: z.array(z.string()).meta({ example: [] }),
  reply_to: z.array(z.string()),
  subject: z.string(),
  html: z.string().nullable(),
  text: z.string().nullable(),
  headers: z.record(z.string(), z.string()).meta({ description: 'The fields that an app sets by its own choice.' }),
  tags: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .meta({ example: [{ name: 'campaign', value: 'spring' }] }),
  attachments: z.array(z.object({ filename: z.string().nullable(), content_type: z.string(), size: z.int() })),
  tracking: z.object({ open: z.boolean(), click: z.boolean(), skipped: z.string().optional() }).meta({
    description: 'What the request or the domain asked for; `skipped`: why the message went out without it.',
  }),
  priority: z.enum(['high', 'normal', 'low']).meta({ example: 'normal' }),
  template_id: z.string().nullable(),
  broadcast_id: z.uuid().optional().meta({ description: 'Of a message of a broadcast only.' }),
  status: emailStatus,
  recipient_counts: recipientCounts,
  created_at: moment,
  scheduled_for: moment.nullable(),
  sent_at: moment.nullable(),
  delivered_at: moment.nullable(),
  opened_at: moment.nullable(),
  clicked_at: moment.nullable(),
  bounced_at: moment.nullable(),
  recipients: z.array(recipient),
} satisfies Record<keyof EmailResource, z.ZodType>

export const emailRecord = z
  .object({ object: z.literal('email'), ...emailFields, last_event: lastEvent, scheduled_at: moment.nullable() })
  .meta({
    id: 'Email',
    description:
      '`html` and `text` are null and `headers` and `attachments` empty where the message is no longer stored, or cannot be read.',
  })

/** `scheduled_at` is what clients of Resend call `scheduled_for`. */
export function toEmailRecord(
  email: EmailResource,
): EmailResource & Pick<z.output<typeof emailRecord>, 'object' | 'last_event' | 'scheduled_at'> {
  return { object: 'email', ...email, last_event: lastEventOf(email), scheduled_at: email.scheduled_for }
}
