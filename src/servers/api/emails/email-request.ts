/**
 * The request for one email, in both shapes of the interface: its fields, then the rules over several
 * fields. The rules are checked even if single fields are wrong, so that all mistakes are reported at
 * once.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { ownValueOf } from '../../../base/platform/records.js'
import { findCustomFieldFault, MAX_CUSTOM_FIELDS } from '../../../outbound/sending/custom-fields.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { parseTimestamp } from '../../../outbound/sending/schedule.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import { isGiven, notBoth, rule } from '../http/input/field-rules.js'
import { missingIssue, toInputRefusal } from '../http/input/parse-input.js'
import { rejectProto, withMaxSize } from '../http/input/schema-bounds.js'
import { emailAttachments, inlineImages, MAX_ATTACHMENTS } from './attachment-fields.js'
import {
  bodyText,
  MAX_RECIPIENTS,
  mailboxes,
  mailboxObject,
  mailboxText,
  oneLine,
  templateData,
} from './email-fields.js'

const headerFields = z.record(z.string(), z.string()).superRefine((fields, context) => {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(fields)) {
    const twice = seen.has(name.toLowerCase()) ? 'is given twice' : null
    seen.add(name.toLowerCase())
    const fault = twice ?? findCustomFieldFault(name, value)
    if (fault !== null) context.addIssue({ code: 'custom', path: [name], message: fault })
  }
})
/** Header fields that a client sets, by their names. */
export const customHeaders = withMaxSize(MAX_CUSTOM_FIELDS, 'header fields', rejectProto(headerFields))

const tagText = z.string().min(1).max(MAX_TAG_TEXT)
/** `scheduled_for`. */
export const releaseText = z
  .string()
  .max(64)
  .refine(
    (text) => parseTimestamp(text) !== null,
    'allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z',
  )

/** `scheduled_at`, which some clients write in words. */
export const releaseTextWithoutWords = z
  .string()
  .max(64)
  .refine(
    (text) => parseTimestamp(text) !== null,
    'allowed: ISO 8601 with an offset or Z, such as 2030-01-31T09:00:00Z; words such as "in 1 min" are not understood, so compute the time',
  )
  .meta({ description: 'Another name of `scheduled_for`.', example: '2030-01-31T09:00:00Z' })

const templateName = z.string().min(1).max(256)

const fields = z.strictObject({
  from: z
    .union([mailboxText, mailboxObject], { error: 'must be an address or {address, name}' })
    .meta({ description: 'An address in a verified domain of the workspace.', example: 'App <app@example.com>' }),
  to: mailboxes.meta({ description: 'At most 50 recipients in `to`, `cc` and `bcc` together.' }),
  cc: mailboxes.optional(),
  bcc: mailboxes.optional().meta({ description: 'Recipients whom the message does not name.' }),
  reply_to: mailboxes.optional(),
  subject: oneLine
    .max(MAX_SUBJECT)
    .optional()
    .meta({ description: 'Required without `template_id`.', example: 'Hello' }),
  html: bodyText.optional().meta({ example: '<p>Hello Bob</p>' }),
  htmlbody: bodyText.optional().meta({ description: 'Another name of `html`.' }),
  text: bodyText.optional().meta({ description: 'Made from the HTML if it is not given.', example: 'Hello Bob' }),
  textbody: bodyText.optional().meta({ description: 'Another name of `text`.' }),
  template_id: templateName
    .optional()
    .meta({ description: 'Supplies subject, HTML and text; those in the request are ignored.' }),
  template_alias: templateName
    .optional()
    .meta({ description: 'Names the template in place of `template_id`.', example: 'welcome' }),
  template_data: templateData.optional(),
  template: z
    .strictObject({
      id: templateName.meta({ description: 'Its alias or its id.', example: 'welcome' }),
      variables: templateData.optional(),
    })
    .optional()
    .meta({ description: 'In place of `template_id` or `template_alias`, and `template_data`.' }),
  scheduled_for: releaseText.optional().meta({
    description: 'ISO 8601 with an offset or `Z`, at most 30 days ahead; in the past means now.',
    example: '2030-01-31T09:00:00Z',
  }),
  scheduled_at: releaseTextWithoutWords.optional(),
  topic_id: z.string().max(256).optional().meta({ description: 'Ignored.' }),
  headers: customHeaders
    .optional()
    .meta({ description: 'Header fields of your own.', example: { 'X-Campaign': 'spring' } }),
  attachments: emailAttachments,
  inline_images: inlineImages,
  tags: withMaxSize(MAX_TAGS, 'tags', z.array(z.strictObject({ name: tagText, value: tagText })).max(MAX_TAGS))
    .optional()
    .meta({ description: 'They come back in events.', example: [{ name: 'campaign', value: 'spring' }] }),
  tracking: z
    .strictObject({ open: z.boolean().optional(), click: z.boolean().optional() })
    .optional()
    .meta({ description: 'What is not given is as the domain has it, else on.' }),
  priority: z.enum(['high', 'normal', 'low']).default('normal'),
})

type Fields = z.output<typeof fields>
/** The fields as the rules see them. Any of them may be wrong or missing. */
type Draft = Readonly<Record<string, unknown>>

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function countRecipients({ to, cc, bcc }: Draft): number {
  // Entries count, not distinct addresses, because each entry costs work.
  return [to, cc, bcc].reduce<number>((sum, list) => sum + toList(list).length, 0)
}

function hasDuplicateIds({ inline_images: images, attachments }: Draft): boolean {
  const named = toList(attachments).map((file) => ownValueOf(file, 'content_id'))
  const ids = [...toList(images).map((image) => ownValueOf(image, 'cid')), ...named.filter(isGiven)]
  return new Set(ids).size < ids.length
}

const emailExample = {
  from: 'The App <app@example.com>',
  to: ['bob@example.com'],
  subject: 'Your bill',
  html: '<p>It is attached.</p>',
  text: 'It is attached.',
  attachments: [{ filename: 'bill.txt', content: 'OTkuMDAK', content_type: 'text/plain' }],
  tags: [{ name: 'campaign', value: 'spring' }],
}

/** Rules over several fields of an email. */
export const emailRules = [
  rule(
    ({ subject, template_id, template_alias, template }) =>
      [subject, template_id, template_alias, template].some(isGiven),
    'subject',
    'is required',
    missingIssue,
  ),
  rule(
    ({ html, htmlbody, text, textbody, template_id, template_alias, template }) =>
      [html, htmlbody, text, textbody, template_id, template_alias, template].some(isGiven),
    'text',
    'is required, unless there is html or template_id',
    missingIssue,
  ),
  notBoth('html', 'htmlbody'),
  notBoth('template_id', 'template_alias', 'names a template as template_id does: give one'),
  rule(
    ({ template, template_id, template_alias, template_data }) =>
      !(isGiven(template) && [template_id, template_alias, template_data].some(isGiven)),
    'template',
    'has the id and the variables of a template: give no template_id, template_alias or template_data',
  ),
  notBoth('scheduled_for', 'scheduled_at'),
  notBoth('text', 'textbody'),
  rule(
    (draft) => countRecipients(draft) <= MAX_RECIPIENTS,
    'to',
    `at most ${MAX_RECIPIENTS} recipients with cc and bcc`,
  ),
  rule(
    ({ attachments, inline_images }) => toList(attachments).length + toList(inline_images).length <= MAX_ATTACHMENTS,
    'attachments',
    `at most ${MAX_ATTACHMENTS} attachments with inline_images`,
  ),
  rule((draft) => !hasDuplicateIds(draft), 'inline_images', 'each needs a different cid'),
] as const

export const emailRequest = fields.check(...emailRules).meta({ id: 'EmailRequest', example: emailExample })

export type EmailRequest = Fields

const ruledEmail = z.custom<EmailRequest>().check(...emailRules)

/** The email, or a Refusal if it breaks a rule over several fields. */
export function withRules(email: EmailRequest): EmailRequest | Refusal {
  const { error } = ruledEmail.safeParse(email)
  return error === undefined ? email : toInputRefusal(error.issues, email)
}

/** An email of a list, or the Refusal that making it throws. */
export async function madeOrRefused(
  make: () => EmailRequest | Refusal | Promise<EmailRequest | Refusal>,
): Promise<EmailRequest | Refusal> {
  try {
    const made = await make()
    return made instanceof Refusal ? made : withRules(made)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** An invalid email of a list becomes its Refusal, so that the others can be sent. */
export function orRefusal(schema: z.ZodType<EmailRequest>): z.ZodType<EmailRequest | Refusal> {
  return schema.catch(toItemRefusal as never)
}

/** Called without a context when a JSON schema is made, which asks for a default. There is none. */
function toItemRefusal(context?: z.core.$ZodCatchCtx): Refusal | undefined {
  return context === undefined ? undefined : toInputRefusal(context.error.issues, context.value)
}
