/**
 * The sending interface of Postmark (https://postmarkapp.com/developer/api/email-api): one email or several, with or
 * without a template.
 */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { MAX_TAG_TEXT, MAX_TAGS } from '../../../outbound/sending/dialect-fields.js'
import { MAX_SUBJECT } from '../../../workspaces/content/render-template.js'
import type { BatchStyle, EmailAcceptance } from '../emails/email-acceptance.js'
import { bodyText, contentType, filename, oneLine, templateData } from '../emails/email-fields.js'
import { type EmailRequest, emailRules, orRefusal } from '../emails/email-request.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import type { CompatibleService } from '../http/route/compatible-service.js'
import { type Route, route } from '../http/route/route.js'
import {
  addressList,
  headerList,
  isOwnField,
  looseBase64,
  oneAddress,
  recipientList,
  tagValues,
  toEmailRequest,
  toFiles,
  toTags,
} from './fields.js'
import { optionalImageId } from './image-ids.js'
import { postmarkError, toPostmarkError } from './postmark-errors.js'

/** Messages of a batch. */
const MAX_BATCH = 500

const file = z.object({
  Name: filename,
  Content: looseBase64,
  ContentType: contentType.optional(),
  ContentID: optionalImageId.optional(),
})

const fields = z.object({
  From: oneAddress,
  To: recipientList,
  Cc: addressList.optional(),
  Bcc: addressList.optional(),
  ReplyTo: addressList.optional(),
  Subject: oneLine.max(MAX_SUBJECT).optional(),
  HtmlBody: bodyText.optional(),
  TextBody: bodyText.optional(),
  Tag: z.string().max(MAX_TAG_TEXT).optional(),
  Metadata: tagValues.optional(),
  // The library for Ruby sends all fields of a composed message.
  Headers: headerList(isOwnField).optional(),
  TrackOpens: z.boolean().optional(),
  TrackLinks: z.enum(['None', 'HtmlAndText', 'HtmlOnly', 'TextOnly']).optional(),
  Attachments: withMaxSize(20, 'attachments', z.array(file)).optional(),
  TemplateId: z
    .union([z.string(), z.number()])
    .transform(String)
    .optional()
    .meta({ description: 'The id or the alias of a template here.' }),
  TemplateAlias: z.string().max(256).optional(),
  TemplateModel: templateData.optional(),
  MessageStream: z.string().optional().meta({ description: 'Ignored.' }),
})

function toRequest(given: z.output<typeof fields>, context: z.RefinementCtx): EmailRequest {
  const { From: from, To: to, Cc: cc, Bcc: bcc, ReplyTo, Subject: subject, HtmlBody: html, TextBody: text } = given
  const { Tag, Metadata, Headers: headers, TrackOpens, TrackLinks, Attachments = [], TemplateId, TemplateAlias } = given
  const tags = toTags(Tag === undefined ? [] : [Tag], Metadata)
  if (tags.length > MAX_TAGS) {
    context.addIssue({ code: 'custom', path: ['Metadata'], message: `at most ${MAX_TAGS} tags with Tag` })
  }
  return toEmailRequest({
    ...{ from, to, cc, bcc, reply_to: ReplyTo, subject, html, text, headers, tags },
    tracking: {
      open: TrackOpens,
      click: TrackLinks === undefined ? undefined : TrackLinks !== 'None' && TrackLinks !== 'TextOnly',
    },
    template_alias: TemplateAlias ?? TemplateId,
    template_data: given.TemplateModel,
    ...toFiles(
      Attachments.map(({ Name, Content, ContentType, ContentID }) => {
        return { filename: Name, content: Content, contentType: ContentType, contentId: ContentID }
      }),
    ),
  })
}

const example = {
  From: 'app@example.com',
  To: 'bob@example.com',
  Subject: 'Hello',
  TextBody: 'Hello Bob',
  MessageStream: 'outbound',
}

const email = fields
  .transform(toRequest)
  .check(...emailRules)
  .meta({ id: 'PostmarkEmail', example })

const list = withMaxSize(MAX_BATCH, 'messages', z.array(orRefusal(email)).min(1))

export const postmarkEmail = email
export const postmarkBatch = list.meta({ id: 'PostmarkBatch', example: [example] })
export const postmarkTemplateBatch = z
  .object({ Messages: list })
  .transform(({ Messages }) => Messages)
  .meta({ id: 'PostmarkTemplateBatch', example: { Messages: [{ ...example, TemplateAlias: 'welcome' }] } })

const sent = z
  .object({
    To: z.string(),
    SubmittedAt: z.iso.datetime(),
    MessageID: z.string(),
    ErrorCode: z.literal(0),
    Message: z.string(),
  })
  .meta({ id: 'PostmarkAnswer' })

type Sent = z.output<typeof sent>

const style: BatchStyle<Sent> = {
  tracksByDefault: false,
  strict: false,
  inParts: true,
  toItem: ({ enqueued, suppressed }, { content }) => ({
    To: content.to.map(({ address }) => address).join(', '),
    SubmittedAt: new Date(enqueued.email.created_at).toISOString(),
    MessageID: enqueued.email.id,
    ErrorCode: 0,
    Message:
      suppressed.length === 0
        ? 'OK'
        : `Message OK, but will not deliver to these inactive addresses: ${suppressed.join(', ')}`,
  }),
  toAnswer: (items) => items.map((one) => (one instanceof Refusal ? postmarkError(one) : one)),
}

const tokens = ['x-postmark-server-token', 'x-postmark-account-token']
const paths = ['/email', '/email/batch', '/email/withTemplate', '/email/batchWithTemplates']

export function postmarkService(acceptance: EmailAcceptance): CompatibleService {
  return {
    name: 'postmark',
    title: 'Postmark',
    keyScheme: { type: 'apiKey', in: 'header', name: 'X-Postmark-Server-Token' },
    // Other services have `/email` too, and many of its other paths are also ours.
    owns: (path, headers) =>
      tokens.some((name) => headers[name] !== undefined) || (paths.includes(path) && path !== '/email'),
    routes: [
      ...['/email', '/email/withTemplate'].map((path) => sendRoute(acceptance, path)),
      batchRoute(acceptance, '/email/batch', postmarkBatch),
      batchRoute(acceptance, '/email/batchWithTemplates', postmarkTemplateBatch),
    ],
    errorSchema: z.object({ ErrorCode: z.int(), Message: z.string() }).meta({ id: 'PostmarkError' }),
    toError: toPostmarkError,
  }
}

const common = { method: 'POST', area: 'send', tag: 'Email', maxBody: MAX_BODY, refusals: [] } as const

function sendRoute(acceptance: EmailAcceptance, path: string): Route {
  return route<undefined, EmailRequest>({
    ...{ ...common, path, summary: 'Send an email', body: postmarkEmail },
    answers: { 200: { description: 'It is stored, and will be delivered.', schema: sent } },
    run: async (call) => ({ kind: 'text', status: 200, ...(await acceptance.accept(call, call.body, style)) }),
  })
}

function batchRoute(
  acceptance: EmailAcceptance,
  path: string,
  body: z.ZodType<readonly (EmailRequest | Refusal)[]>,
): Route {
  return route<undefined, readonly (EmailRequest | Refusal)[]>({
    ...{ ...common, path, summary: `Send up to ${MAX_BATCH} emails`, body },
    answers: { 200: { description: 'An answer for each, in their order.', schema: z.array(sent) } },
    run: async (call) => ({ kind: 'text', status: 200, ...(await acceptance.acceptAll(call, call.body, style)) }),
  })
}
