/** A request of ZeptoMail's clients, and the emails that it stands for. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { isRecord } from '../../../base/platform/records.js'
import { MAX_TAG_TEXT } from '../../../outbound/sending/dialect-fields.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import {
  addressText,
  bodyText,
  contentType,
  filename,
  MAX_RECIPIENTS,
  oneLine,
  templateData,
} from '../emails/email-fields.js'
import { customHeaders, type EmailRequest, madeOrRefused, withRules } from '../emails/email-request.js'
import { missingIssue } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { looseBase64, toEmailRequest, toMailbox } from './fields.js'
import { imageId } from './image-ids.js'
import { replaceInBody, replaceWords } from './replace-words.js'

/** Recipients of a batch, each of whom gets an email. */
const MAX_BATCH = 500

const mailbox = z
  .object({ address: addressText, name: z.string().optional() })
  .transform(({ address, name }) => toMailbox(address, name))
const recipient = z.object({ email_address: mailbox }).transform(({ email_address }) => email_address)
const recipients = withMaxSize(MAX_RECIPIENTS, 'addresses', z.array(recipient)).optional()
const to = withMaxSize(
  MAX_BATCH,
  'addresses',
  z.array(z.object({ email_address: mailbox, merge_info: templateData.optional() })).min(1),
)

const cached = z.string().min(1).max(256)
const file = z.union(
  [
    z.object({ file_cache_key: cached, name: filename.optional() }),
    z.object({ content: looseBase64, name: filename, mime_type: contentType.optional() }),
  ],
  { error: 'must be {content, name, mime_type} or {file_cache_key, name}' },
)
const image = z.union(
  [
    z.object({ file_cache_key: cached, cid: imageId }),
    z.object({
      content: looseBase64,
      cid: imageId,
      name: filename.optional(),
      mime_type: contentType.optional(),
    }),
  ],
  { error: 'must be {content, cid, mime_type} or {file_cache_key, cid}' },
)

const fields = z.object({
  from: mailbox,
  to,
  cc: recipients,
  bcc: recipients,
  reply_to: withMaxSize(MAX_RECIPIENTS, 'addresses', z.array(mailbox)).optional(),
  subject: oneLine.max(MAX_SUBJECT).optional(),
  htmlbody: bodyText.optional(),
  textbody: bodyText.optional(),
  template_key: z.string().max(256).optional().meta({ description: 'The id or the alias of a template here.' }),
  template_alias: z.string().max(256).optional(),
  merge_info: templateData.optional(),
  track_clicks: z.boolean().optional(),
  track_opens: z.boolean().optional(),
  client_reference: z.string().max(MAX_TAG_TEXT).optional(),
  mime_headers: customHeaders.optional(),
  attachments: withMaxSize(20, 'attachments', z.array(file)).optional(),
  inline_images: withMaxSize(20, 'images', z.array(image)).optional(),
})

export type ZeptoMail = z.output<typeof fields>

export const zeptoMail = fields
  .superRefine((given, context) => {
    if (given.template_key !== undefined || given.template_alias !== undefined) return
    const require = (field: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: 'is required', params: missingIssue })
    if (given.subject === undefined) require('subject')
    if (given.htmlbody === undefined && given.textbody === undefined) require('htmlbody')
  })
  .meta({
    id: 'ZeptoMail',
    example: {
      from: { address: 'app@example.com', name: 'The App' },
      to: [{ email_address: { address: 'bob@example.com', name: 'Bob' } }],
      subject: 'Hello',
      textbody: 'Hello Bob',
    },
  })

type Recipient = ZeptoMail['to'][number]
type Values = Readonly<Record<string, unknown>>

/** The emails of a batch: one for each recipient, with values of each. Each is made when it is its turn. */
export class ZeptoMailEmails {
  constructor(private readonly mail: ZeptoMail) {}

  get length(): number {
    return this.mail.to.length
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EmailRequest | Refusal> {
    for (const one of this.mail.to)
      yield await madeOrRefused(() => this.toEmail([one], { ...this.mail.merge_info, ...one.merge_info }))
  }

  /** One email to all recipients. Rejects with a Refusal. */
  async toOne(): Promise<EmailRequest> {
    const { to, merge_info: values = {} } = this.mail
    if (to.length > MAX_RECIPIENTS) {
      const message = `to: at most ${MAX_RECIPIENTS} recipients; /v1.1/email/batch sends an email to each`
      throw new Refusal('invalid-parameter', message, { field: 'to', value: to.length })
    }
    const email = withRules(await this.toEmail(to, values))
    if (email instanceof Refusal) throw email
    return email
  }

  private async toEmail(to: readonly Recipient[], values: Values): Promise<EmailRequest> {
    const { mail } = this
    const template = mail.template_key ?? mail.template_alias
    const words = template === undefined ? toWords(values) : {}
    return toEmailRequest({
      ...{ from: mail.from, to: to.map(({ email_address }) => email_address), cc: mail.cc, bcc: mail.bcc },
      ...{ reply_to: mail.reply_to, headers: mail.mime_headers, subject: await replaceInSubject(mail.subject, words) },
      ...{ html: await replaceInBody(mail.htmlbody, words), text: await replaceInBody(mail.textbody, words) },
      ...{ template_alias: template, template_data: template === undefined ? undefined : { ...values } },
      tracking: { open: mail.track_opens, click: mail.track_clicks },
      tags: mail.client_reference ? [{ name: 'client_reference', value: mail.client_reference }] : [],
      attachments: mail.attachments?.map(toAttachment),
      inline_images: mail.inline_images?.map(toImage),
    })
  }
}

type Attachment = NonNullable<EmailRequest['attachments']>[number]
type Image = NonNullable<EmailRequest['inline_images']>[number]

function toAttachment(given: z.output<typeof file>): Attachment {
  if ('file_cache_key' in given) return given
  const { content, name, mime_type: type = 'application/octet-stream' } = given
  return { filename: name, content, content_type: type }
}

function toImage(given: z.output<typeof image>): Image {
  if ('file_cache_key' in given) return given
  const { content, cid, name, mime_type: type } = given
  return {
    ...{ content, cid },
    ...(name === undefined ? {} : { filename: name }),
    ...(type === undefined ? {} : { content_type: type }),
  }
}

/** Values that are text, a number or a switch, by their words in subject and bodies: `{{name}}`. */
function toWords(values: Values): Readonly<Record<string, string>> {
  const plain = Object.entries(values).filter(([, value]) => !isRecord(value) && !Array.isArray(value))
  return Object.fromEntries(plain.map(([name, value]) => [`{{${name}}}`, String(value)]))
}

/** Line ends of values become blanks: a subject is one line. */
async function replaceInSubject(
  subject: string | undefined,
  words: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (subject === undefined) return undefined
  const replaced = await replaceWords(subject, words)
  return replaced.replace(/[\r\n]+/g, ' ').slice(0, MAX_SUBJECT)
}
