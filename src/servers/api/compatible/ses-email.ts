/** The requests of clients of Amazon SES, version 2 (https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html). */
import { z } from 'zod'
import type { Address } from '../../../base/mail/address.js'
import type { NamedAddress } from '../../../base/mail/named-address.js'
import type { Refusal } from '../../../base/mail/refusal.js'
import { isRecord } from '../../../base/platform/records.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import {
  bodyText,
  contentType,
  filename,
  MAX_CONTENT_ID,
  MAX_RECIPIENTS,
  oneLine,
  templateData,
} from '../emails/email-fields.js'
import { type EmailRequest, emailRules, madeOrRefused } from '../emails/email-request.js'
import { parseJsonBody } from '../http/input/json-body.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { type GivenFile, headerList, looseBase64, oneAddress, toEmailRequest, toFiles } from './fields.js'
import { readInlineId } from './image-ids.js'

/** Characters of the values of a template. */
const MAX_TEMPLATE_DATA = 262_144
/** Emails of one request for several. */
const MAX_ENTRIES = 50

const addresses = withMaxSize(MAX_RECIPIENTS, 'addresses', z.array(oneAddress))
const destination = z.object({
  ToAddresses: addresses.optional(),
  CcAddresses: addresses.optional(),
  BccAddresses: addresses.optional(),
})
const text = z.object({ Data: bodyText, Charset: z.string().optional() })

const headers = headerList().optional()

const file = z
  .object({
    FileName: filename,
    RawContent: looseBase64,
    ContentType: contentType.optional(),
    ContentDisposition: z.enum(['ATTACHMENT', 'INLINE']).optional(),
    ContentId: z.string().max(MAX_CONTENT_ID).optional(),
  })
  .transform(({ FileName, RawContent, ContentType, ContentDisposition, ContentId }, context): GivenFile => {
    const given = { field: 'ContentId', id: ContentId, filename: FileName }
    const contentId = ContentDisposition === 'INLINE' ? readInlineId(given, context) : undefined
    return { filename: FileName, content: RawContent, contentType: ContentType, contentId }
  })
const files = withMaxSize(20, 'attachments', z.array(file)).optional()

const subject = z.object({ Data: oneLine.max(MAX_SUBJECT), Charset: z.string().optional() })
const simple = z.object({
  Subject: subject,
  Body: z.object({ Text: text.optional(), Html: text.optional() }),
  Headers: headers,
  Attachments: files,
})

const template = z.object({
  TemplateName: z.string().max(256).meta({ description: 'The id or the alias of a template here.' }),
  TemplateData: z
    .string()
    .max(MAX_TEMPLATE_DATA)
    .default('{}')
    .transform(parseData)
    .pipe(templateData)
    .meta({ description: 'The values as a JSON object.', example: '{"name": "Bob"}' }),
  Headers: headers,
  Attachments: files,
})

function parseData(json: string, context: z.RefinementCtx): unknown {
  try {
    const value = parseJsonBody(Buffer.from(json))
    if (isRecord(value)) return value
  } catch {
    // It is refused below.
  }
  context.addIssue({ code: 'custom', message: 'must be a JSON object' })
  return z.NEVER
}

const tags = withMaxSize(
  MAX_TAGS,
  'tags',
  z.array(z.object({ Name: z.string().min(1).max(MAX_TAG_TEXT), Value: z.string().min(1).max(MAX_TAG_TEXT) })),
).optional()

const fields = z.object({
  FromEmailAddress: oneAddress.optional(),
  Destination: destination.default({}),
  ReplyToAddresses: addresses.optional(),
  Content: z.object({
    Simple: simple.optional(),
    Raw: z.object({ Data: looseBase64 }).optional(),
    Template: template.optional(),
  }),
  EmailTags: tags,
  ConfigurationSetName: z.string().optional().meta({ description: 'Ignored.' }),
})

type Fields = z.output<typeof fields>
type Tags = NonNullable<EmailRequest['tags']>

/** A request for a composed message, or for an email whose parts it has. */
export type SesRequest =
  | { readonly kind: 'email'; readonly email: EmailRequest }
  | {
      readonly kind: 'message'
      readonly raw: Buffer
      readonly from: Address | undefined
      readonly to: readonly Address[] | undefined
      readonly tags: Tags
    }

function toRequest(given: Fields, context: z.RefinementCtx): SesRequest {
  const { Content, FromEmailAddress: from, Destination: at } = given
  const tags = toTags(given.EmailTags)
  if (Content.Raw !== undefined) {
    const to = [...(at.ToAddresses ?? []), ...(at.CcAddresses ?? []), ...(at.BccAddresses ?? [])]
    const addresses = to.length === 0 ? undefined : to.map(({ address }) => address)
    return { kind: 'message', raw: Content.Raw.Data, from: from?.address, to: addresses, tags }
  }
  if (from === undefined) return refuse(context, 'FromEmailAddress', 'is required')
  if (countRecipients(at) === 0) return refuse(context, 'Destination', 'names no recipients')
  const email = toEmail({ from, at, replyTo: given.ReplyToAddresses, tags }, Content)
  const issues = emailCheck.safeParse(email).error?.issues ?? []
  for (const { path, message } of issues) context.addIssue({ code: 'custom', path: [...path], message })
  return { kind: 'email', email }
}

function countRecipients({
  ToAddresses = [],
  CcAddresses = [],
  BccAddresses = [],
}: z.output<typeof destination>): number {
  return ToAddresses.length + CcAddresses.length + BccAddresses.length
}

const emailCheck = z.custom<EmailRequest>().check(...emailRules)

function refuse(context: z.RefinementCtx, field: string, message: string): never {
  context.addIssue({ code: 'custom', path: [field], message })
  return z.NEVER
}

interface Envelope {
  readonly from: NamedAddress
  readonly at: z.output<typeof destination>
  readonly replyTo: NamedAddress[] | undefined
  readonly tags: Tags
}

function toEmail(
  { from, at, replyTo, tags }: Envelope,
  { Simple, Template }: Pick<Fields['Content'], 'Simple' | 'Template'>,
): EmailRequest {
  const given = Simple ?? Template
  return toEmailRequest({
    ...{ from, reply_to: replyTo, tags },
    ...{ to: at.ToAddresses ?? [], cc: at.CcAddresses, bcc: at.BccAddresses },
    subject: Simple?.Subject.Data,
    ...{ html: Simple?.Body.Html?.Data, text: Simple?.Body.Text?.Data, headers: given?.Headers },
    ...{ template_alias: Template?.TemplateName, template_data: Template?.TemplateData },
    ...toFiles(given?.Attachments ?? []),
  })
}

function toTags(given: Fields['EmailTags'] = []): Tags {
  return given.map(({ Name: name, Value: value }) => ({ name, value }))
}

const content = { Simple: { Subject: { Data: 'Hello' }, Body: { Text: { Data: 'Hello Bob' } } } }

export const sesEmail: z.ZodType<SesRequest> = fields.transform(toRequest).meta({
  id: 'SesEmail',
  example: {
    FromEmailAddress: 'app@example.com',
    Destination: { ToAddresses: ['bob@example.com'] },
    Content: content,
  },
})

const entry = z.object({
  Destination: destination.refine((at) => countRecipients(at) > 0, 'names no recipients'),
  ReplacementTags: tags,
  ReplacementEmailContent: z
    .object({ ReplacementTemplate: z.object({ ReplacementTemplateData: template.shape.TemplateData }) })
    .optional(),
})

const bulkFields = z.object({
  FromEmailAddress: oneAddress,
  ReplyToAddresses: addresses.optional(),
  DefaultContent: z.object({ Template: template }),
  DefaultEmailTags: tags,
  BulkEmailEntries: withMaxSize(MAX_ENTRIES, 'entries', z.array(entry).min(1)),
})

export type SesBulk = z.output<typeof bulkFields>

/** A request for emails from one template, with values for each. */
export const sesBulkEmail = bulkFields.meta({
  id: 'SesBulkEmail',
  example: {
    FromEmailAddress: 'app@example.com',
    DefaultContent: { Template: { TemplateName: 'welcome', TemplateData: '{}' } },
    BulkEmailEntries: [{ Destination: { ToAddresses: ['bob@example.com'] } }],
  },
})

/** The emails of such a request. Each is made when it is its turn. */
export class SesBulkEmails {
  constructor(private readonly bulk: SesBulk) {}

  get length(): number {
    return this.bulk.BulkEmailEntries.length
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EmailRequest | Refusal> {
    for (const one of this.bulk.BulkEmailEntries) yield await madeOrRefused(() => this.toEmail(one))
  }

  private toEmail({ Destination: at, ReplacementTags, ReplacementEmailContent }: z.output<typeof entry>): EmailRequest {
    const { FromEmailAddress: from, ReplyToAddresses: replyTo, DefaultContent, DefaultEmailTags } = this.bulk
    const { Template } = DefaultContent
    const own = ReplacementEmailContent?.ReplacementTemplate.ReplacementTemplateData
    const TemplateData = { ...Template.TemplateData, ...own }
    const tags = toTags(ReplacementTags ?? DefaultEmailTags)
    return toEmail({ from, at, replyTo, tags }, { Template: { ...Template, TemplateData } })
  }
}
