/** The fields of broadcasts in requests and answers. */
import { z } from 'zod'
import type { NamedAddress } from '../../../base/mail/named-address.js'
import type { BroadcastResource } from '../../../outbound/broadcasts/broadcast-resource.js'
import { type Draft, type DraftChange, wordRules } from '../../../outbound/broadcasts/draft.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import { blocksAnswer, blocksRequest, type CompiledSource, ifUpdatedAt, oneSource } from '../content/blocks-field.js'
import { mailboxes, mailboxObject, mailboxText, oneLine } from '../emails/email-fields.js'
import { releaseText, releaseTextWithoutWords } from '../emails/email-request.js'
import { isGiven, notBoth, required, rule } from '../http/input/field-rules.js'
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

const segmentId = id.meta({ description: 'Another name of `audience_id`.' })
const topicId = z.string().max(256).optional().meta({ description: 'Ignored.' })

const fields = z.strictObject({
  name: name
    .optional()
    .meta({ description: 'Recipients do not see it. Default: the subject.', example: 'News in May' }),
  audience_id: audienceId.optional(),
  segment_id: segmentId.optional(),
  from,
  reply_to: mailboxes.optional(),
  subject: subject.optional(),
  html: html.optional(),
  text: text.optional(),
  blocks: blocksRequest.optional(),
  template_id: templateId.optional(),
  topic_id: topicId,
  send: z
    .boolean()
    .optional()
    .meta({ description: 'Whether it is sent, or scheduled, at once. Default: it is a draft.' }),
  scheduled_at: releaseTextWithoutWords.optional().meta({ description: 'With `send`: when.' }),
})

const oneAudience = notBoth('audience_id', 'segment_id')

export const broadcastRequest = fields
  .check(
    required('name', 'subject'),
    required('audience_id', 'segment_id'),
    oneAudience,
    oneSource,
    ...wordRules.map(({ field, kind, message, holds }) =>
      rule(holds, field, message, kind === 'missing-field' ? missingIssue : undefined),
    ),
    rule(({ send, scheduled_at }) => !isGiven(scheduled_at) || send === true, 'scheduled_at', 'allowed: with send'),
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
    segment_id: segmentId.optional(),
    topic_id: topicId,
    from: from.optional(),
    reply_to: mailboxes.nullable().optional(),
    subject: subject.nullable().optional(),
    html: html.nullable().optional(),
    text: text.nullable().optional(),
    blocks: blocksRequest.optional(),
    template_id: templateId.nullable().optional(),
    if_updated_at: ifUpdatedAt,
  })
  .check(oneAudience, oneSource)
  .meta({ id: 'BroadcastChange', example: { subject: 'News of May' } })

export const broadcastSend = z
  .strictObject({
    scheduled_for: releaseText.optional().meta({
      description: 'ISO 8601 with an offset or `Z`, at most 30 days ahead; in the past, or absent, means now.',
      example: '2030-01-31T09:00:00Z',
    }),
    scheduled_at: releaseTextWithoutWords.optional(),
  })
  .check(notBoth('scheduled_for', 'scheduled_at'))
  .meta({ id: 'BroadcastSend', example: { scheduled_for: '2030-01-31T09:00:00Z' } })

export const broadcastTest = z
  .strictObject({ to: address })
  .meta({ id: 'BroadcastTest', example: { to: 'ann@example.com' } })

export const broadcastCopy = z
  .strictObject({
    name: name
      .optional()
      .meta({ description: 'Default: made from the name of the first.', example: 'News in May, again' }),
    only_not_opened: z
      .boolean()
      .optional()
      .meta({ description: 'Only for contacts that got the broadcast and did not open it. Default: false.' }),
  })
  .meta({ id: 'BroadcastCopy', example: { only_not_opened: true } })

const count = z.int().min(0)
const percentage = z.number().min(0).max(100)

export const listedFields = {
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
  not_opened_of: uuid.nullable().meta({
    description: 'It goes only to contacts that got this broadcast and did not open it. Null: to the whole audience.',
    example: null,
  }),
}

/** The type of the record checks them: it does not compile if the document lacks a field. */
export const broadcastFields = {
  ...listedFields,
  html: z.string().nullable(),
  text: z.string().nullable(),
  blocks: blocksAnswer,
} satisfies Record<keyof BroadcastResource, z.ZodType>

/** `source` has the HTML and the document of the request. */
export function toDraft(body: z.output<typeof fields>, source: CompiledSource): Draft {
  const name = body.name ?? (body.subject ?? '').slice(0, MAX_NAME)
  const audienceId = body.audience_id ?? body.segment_id ?? ''
  return {
    ...{ name, audienceId, from: body.from, replyTo: body.reply_to ?? [] },
    subject: body.subject ?? null,
    html: source.html ?? null,
    text: body.text ?? null,
    blocks: source.blocks ?? null,
    templateId: body.template_id ?? null,
  }
}

export function toDraftChange(body: z.output<typeof broadcastChange>, source: CompiledSource): DraftChange {
  const { name, from, subject, text } = body
  const replyTo: readonly NamedAddress[] | undefined = body.reply_to === null ? [] : body.reply_to
  const audienceId = body.audience_id ?? body.segment_id
  return { name, from, replyTo, subject, text, ...source, audienceId, templateId: body.template_id }
}
