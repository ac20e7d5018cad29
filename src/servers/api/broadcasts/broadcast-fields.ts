/** The fields of broadcasts in requests and answers. */
import { z } from 'zod'
import type { NamedAddress } from '../../../base/mail/named-address.js'
import { isRecord } from '../../../base/platform/records.js'
import type { BroadcastResource } from '../../../outbound/broadcasts/broadcast-resource.js'
import { type Draft, type DraftChange, wordRules } from '../../../outbound/broadcasts/draft.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import { mailboxes, mailboxObject, mailboxText, oneLine } from '../emails/email-fields.js'
import { releaseText } from '../emails/email-request.js'
import { missingIssue } from '../http/input/parse-input.js'
import { address, timestamp, uuid } from '../http/input/values.js'

const MAX_NAME = 255
const nameRule = `allowed: 1 to ${MAX_NAME} characters, no control characters`
const name = z
  .string(nameRule)
  .max(MAX_NAME, nameRule)
  .refine((text) => text.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(text), nameRule)
  .meta({ description: 'Recipients do not see it.', example: 'News in May' })

const id = z.string().min(1).max(256)
const audienceId = id.meta({ description: 'Its subscribed contacts get the broadcast.' })
const from = z
  .union([mailboxText, mailboxObject], { error: 'must be an address or {address, name}' })
  .meta({ description: 'An address in a verified domain of the workspace.', example: 'News <news@example.com>' })
const subject = oneLine
  .min(1)
  .max(MAX_SUBJECT)
  .meta({ description: 'Required without `template_id`; may have variables.', example: 'News for {{first_name|you}}' })
const html = z.string().meta({ example: '<p>Hello {{first_name|reader}}</p>' })
const text = z.string().meta({ description: 'Made from the HTML if it is not given.', example: 'Hello' })
const templateId = id.meta({ description: 'Supplies subject, HTML and text, as they are when the broadcast is sent.' })

const fields = z.strictObject({
  name,
  audience_id: audienceId,
  from,
  reply_to: mailboxes.optional(),
  subject: subject.optional(),
  html: html.optional(),
  text: text.optional(),
  template_id: templateId.optional(),
})

export const broadcastRequest = fields
  .check(
    ...wordRules.map(({ field, kind, message, holds }) =>
      z.refine<unknown>((given) => holds(isRecord(given) ? given : {}), {
        path: [field],
        message,
        ...(kind === 'missing-field' ? { params: missingIssue } : {}),
        when: ({ value }) => isRecord(value),
      }),
    ),
  )
  .meta({
    id: 'BroadcastRequest',
    example: {
      name: 'News in May',
      audience_id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10',
      from: 'News <news@example.com>',
      subject: 'News for {{first_name|you}}',
      html: '<p>Hello {{first_name|reader}}</p>',
    },
  })

export const broadcastChange = z
  .strictObject({
    name: name.optional(),
    audience_id: audienceId.optional(),
    from: from.optional(),
    reply_to: mailboxes.nullable().optional(),
    subject: subject.nullable().optional(),
    html: html.nullable().optional(),
    text: text.nullable().optional(),
    template_id: templateId.nullable().optional(),
  })
  .meta({ id: 'BroadcastChange', example: { subject: 'News of May' } })

export const broadcastSend = z
  .strictObject({
    scheduled_for: releaseText.optional().meta({
      description: 'ISO 8601 with an offset or `Z`, at most 30 days ahead; in the past, or absent, means now.',
      example: '2030-01-31T09:00:00Z',
    }),
  })
  .meta({ id: 'BroadcastSend', example: { scheduled_for: '2030-01-31T09:00:00Z' } })

export const broadcastTest = z
  .strictObject({ to: address })
  .meta({ id: 'BroadcastTest', example: { to: 'ann@example.com' } })

const count = z.int().min(0)
const percentage = z.number().min(0).max(100)

const listedFields = {
  id: uuid,
  name: z.string(),
  audience_id: z.string(),
  from: z.string().meta({ example: 'News <news@example.com>' }),
  reply_to: z.array(z.string()).meta({ example: [] }),
  subject: z.string().nullable(),
  template_id: z.string().nullable(),
  status: z.enum(['draft', 'scheduled', 'sending', 'paused', 'sent', 'cancelled']),
  scheduled_for: timestamp.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
  recipients: count.meta({ description: 'Contacts for whom a message was made.' }),
  queued: count,
  sent: count.meta({ description: 'All that left: with those delivered and bounced.' }),
  delivered: count.meta({ description: 'With those who complained.' }),
  bounced: count,
  failed: count,
  cancelled: count,
  complained: count,
  unsubscribed: count,
  unique_opens: count,
  unique_clicks: count,
  rates: z
    .strictObject({
      delivery_rate: percentage,
      bounce_rate: percentage,
      open_rate: percentage,
      click_rate: percentage,
      unsubscribe_rate: percentage,
    })
    .meta({
      description: 'In percent: the first two of `sent`, the others of `delivered`; 0 where there are none.',
    }),
  waits_until: timestamp.nullable().meta({ description: 'A limit is used up; it goes on by itself at this time.' }),
  note: z.string().nullable().meta({ description: 'Why the service waits, or has paused it.', example: null }),
}

export const listedBroadcast = z.strictObject(listedFields).meta({ id: 'ListedBroadcast' })

/** The type of the record checks it: it does not compile if the document lacks a field. */
export const broadcastRecord = z
  .strictObject({ ...listedFields, html: z.string().nullable(), text: z.string().nullable() } satisfies Record<
    keyof BroadcastResource,
    z.ZodType
  >)
  .meta({ id: 'Broadcast' })

export function toDraft(body: z.output<typeof fields>): Draft {
  return {
    ...{ name: body.name, audienceId: body.audience_id, from: body.from, replyTo: body.reply_to ?? [] },
    subject: body.subject ?? null,
    html: body.html ?? null,
    text: body.text ?? null,
    templateId: body.template_id ?? null,
  }
}

export function toDraftChange(body: z.output<typeof broadcastChange>): DraftChange {
  const { name, from, subject, html, text } = body
  const replyTo: readonly NamedAddress[] | undefined = body.reply_to === null ? [] : body.reply_to
  return { name, from, replyTo, subject, html, text, audienceId: body.audience_id, templateId: body.template_id }
}
