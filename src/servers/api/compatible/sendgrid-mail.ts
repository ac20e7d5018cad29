/**
 * A request of SendGrid's clients, and the emails that it stands for: one for each personalization
 * (https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send).
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { findCustomFieldFault } from '../../../outbound/sending/custom-fields.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import type { RequestedBody } from '../../../outbound/sending/message-content.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import {
  addressText,
  bodyText,
  contentType,
  filename,
  MAX_CONTENT_ID,
  MAX_RECIPIENTS,
  oneLine,
  templateData,
} from '../emails/email-fields.js'
import { customHeaders, type EmailRequest, madeOrRefused } from '../emails/email-request.js'
import { missingIssue } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import {
  type GivenFile,
  looseBase64,
  mergeHeaders,
  plainText,
  tagValues,
  toEmailRequest,
  toFiles,
  toMailbox,
  toTags,
} from './fields.js'
import { readInlineId } from './image-ids.js'
import { replaceInBody, replaceWords } from './replace-words.js'

/** Emails of one request. */
const MAX_PERSONALIZATIONS = 1_000
/** Words that a personalization replaces. */
const MAX_SUBSTITUTIONS = 200

const mailbox = z
  .object({ email: addressText, name: z.string().optional() })
  .transform(({ email, name }) => toMailbox(email, name))
const mailboxes = withMaxSize(MAX_RECIPIENTS, 'addresses', z.array(mailbox))
const words = withMaxSize(MAX_SUBSTITUTIONS, 'substitutions', z.record(z.string().min(1), plainText))
const subject = oneLine.max(MAX_SUBJECT)
/** Seconds since 1970. */
const sendAt = z.int().min(0).max(4_102_444_800)

const personalization = z.object({
  to: mailboxes.refine((list) => list.length > 0, 'is required'),
  cc: mailboxes.optional(),
  bcc: mailboxes.optional(),
  from: mailbox.optional(),
  subject: subject.optional(),
  headers: customHeaders.optional(),
  substitutions: words
    .optional()
    .meta({ description: 'Words of subject, bodies and header fields, and their values.' }),
  dynamic_template_data: templateData.optional(),
  custom_args: tagValues.optional(),
  send_at: sendAt.optional(),
})

const file = z
  .object({
    content: looseBase64,
    filename,
    type: contentType.optional(),
    disposition: z.enum(['attachment', 'inline']).optional(),
    content_id: z.string().max(MAX_CONTENT_ID).optional(),
  })
  .transform(({ content, filename, type: contentType, disposition, content_id: id }, context): GivenFile => {
    const given = { field: 'content_id', id, filename }
    const contentId = disposition === 'inline' ? readInlineId(given, context) : undefined
    return { filename, content, contentType, contentId }
  })

const content = z.object({
  type: z.enum(['text/plain', 'text/html'], 'allowed: text/plain, text/html'),
  value: bodyText,
})

const enabled = z.object({ enable: z.boolean().optional() }).optional()

const fields = z.object({
  personalizations: withMaxSize(MAX_PERSONALIZATIONS, 'personalizations', z.array(personalization).min(1)),
  from: mailbox,
  reply_to: mailbox.optional(),
  reply_to_list: mailboxes.optional(),
  subject: subject.optional(),
  content: withMaxSize(2, 'contents', z.array(content)).optional(),
  attachments: withMaxSize(20, 'attachments', z.array(file)).optional(),
  template_id: z.string().max(256).optional().meta({ description: 'The id or the alias of a template here.' }),
  headers: customHeaders.optional(),
  categories: withMaxSize(MAX_TAGS, 'categories', z.array(z.string().min(1).max(MAX_TAG_TEXT))).optional(),
  custom_args: tagValues.optional(),
  send_at: sendAt.optional(),
  mail_settings: z.object({ sandbox_mode: enabled }).optional(),
  tracking_settings: z.object({ click_tracking: enabled, open_tracking: enabled }).optional(),
})

export type SendGridMail = z.output<typeof fields>
type Personalization = SendGridMail['personalizations'][number]

function tagsOf(mail: SendGridMail, one: Personalization): ReturnType<typeof toTags> {
  return toTags(mail.categories ?? [], { ...mail.custom_args, ...one.custom_args })
}

const example = {
  personalizations: [{ to: [{ email: 'bob@example.com' }] }],
  from: { email: 'app@example.com', name: 'The App' },
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello Bob' }],
}

export const sendGridMail = fields
  .superRefine((mail, context) => {
    const place = mail.personalizations.findIndex((one) => tagsOf(mail, one).length > MAX_TAGS)
    if (place === -1) return
    const path = mail.personalizations[place]?.custom_args === undefined ? [] : ['personalizations', place]
    const message = `at most ${MAX_TAGS} tags with categories`
    context.addIssue({ code: 'custom', path: [...path, 'custom_args'], message })
  })
  .superRefine(({ subject, content = [], template_id: template, personalizations }, context) => {
    if (template !== undefined) return
    const require = (path: PropertyKey[]): void =>
      context.addIssue({ code: 'custom', path, message: 'is required', params: missingIssue })
    if (content.length === 0) require(['content'])
    const without = personalizations.findIndex((one) => one.subject === undefined)
    if (subject === undefined && without !== -1) require(['personalizations', without, 'subject'])
  })
  .meta({ id: 'SendGridMail', example })

/** The emails of a request. Each is made when it is its turn. */
export class SendGridEmails {
  constructor(private readonly mail: SendGridMail) {}

  get length(): number {
    return this.mail.personalizations.length
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EmailRequest | Refusal> {
    for (const one of this.mail.personalizations) yield await madeOrRefused(() => this.toEmail(one))
  }

  private async toEmail(one: Personalization): Promise<EmailRequest | Refusal> {
    const { mail } = this
    const { substitutions = {} } = one
    const at = one.send_at ?? mail.send_at
    const headers = await replaceInFields(mergeHeaders(mail.headers, one.headers), substitutions)
    const subject = await replaceInLine('subject', one.subject ?? mail.subject, substitutions)
    if (headers instanceof Refusal) return headers
    if (subject instanceof Refusal) return subject
    const { click_tracking: click, open_tracking: open } = mail.tracking_settings ?? {}
    return toEmailRequest({
      ...{ from: one.from ?? mail.from, to: one.to, cc: one.cc, bcc: one.bcc, subject },
      reply_to: this.replyTo,
      html: await replaceInBody(this.bodyOf('text/html'), substitutions),
      text: await replaceInBody(this.bodyOf('text/plain'), substitutions),
      headers: Object.keys(headers).length === 0 ? undefined : headers,
      tags: tagsOf(mail, one),
      scheduled_for: at === undefined ? undefined : new Date(at * 1_000).toISOString(),
      tracking: { open: open?.enable, click: click?.enable },
      template_alias: mail.template_id,
      template_data: one.dynamic_template_data,
      ...toFiles(mail.attachments ?? []),
    })
  }

  /** Libraries send an empty list where their user gives none. */
  private get replyTo(): EmailRequest['reply_to'] | undefined {
    const { reply_to: one, reply_to_list: list = [] } = this.mail
    return one === undefined || list.length > 0 ? list : [one]
  }

  private bodyOf(type: 'text/html' | 'text/plain'): RequestedBody | undefined {
    return this.mail.content?.find((one) => one.type === type)?.value
  }
}

type Words = Readonly<Record<string, string>>

/** A value may have line ends, which a field must not have. */
async function replaceInLine(
  field: string,
  text: string | undefined,
  words: Words,
): Promise<string | undefined | Refusal> {
  if (text === undefined || Object.keys(words).length === 0) return text
  const replaced = await replaceWords(text, words)
  const parsed = subject.safeParse(replaced)
  if (parsed.success) return replaced
  const message = `${field}: ${parsed.error.issues[0]?.message ?? 'is not valid'} after its substitutions`
  return new Refusal('invalid-parameter', message, { field, value: replaced.slice(0, 100) })
}

async function replaceInFields(fields: Words, words: Words): Promise<Words | Refusal> {
  if (Object.keys(words).length === 0) return fields
  const replaced: Record<string, string> = {}
  for (const [name, written] of Object.entries(fields)) {
    const value = await replaceWords(written, words)
    replaced[name] = value
    const fault = findCustomFieldFault(name, value)
    if (fault !== null)
      return new Refusal('invalid-parameter', `headers.${name}: ${fault}`, { field: `headers.${name}` })
  }
  return replaced
}
