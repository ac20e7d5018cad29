/** The service Mailgun: its sending routes, and its errors. Lists of events and suppressed addresses have files of their own. */
import { z } from 'zod'
import { createMessageId } from '../../../base/mail/message-id.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { parseReleaseTime } from '../../../outbound/sending/schedule.js'
import { emailById } from '../../../records/messages/email/email.js'
import type { BatchStyle, RequestList } from '../emails/email-acceptance.js'
import type { Answer } from '../http/answer.js'
import type { ErrorBody } from '../http/error-answer.js'
import { formTypes, parseForms } from '../http/input/form.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { parseInput } from '../http/input/parse-input.js'
import type { CompatibleService, ServiceError } from '../http/route/compatible-service.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type MailgunDeps, requireDomain } from './mailgun-domain.js'
import { mailgunEventRoutes } from './mailgun-events.js'
import { collectMailgunFields, mailgunFields } from './mailgun-fields.js'
import { MailgunMail } from './mailgun-mail.js'
import { type MailgunMessage, mailgunMessageFields, readMailgunMessage } from './mailgun-message.js'
import { mailgunSuppressionRoutes } from './mailgun-suppressions.js'
import { isSendGridPath } from './sendgrid.js'

/** Other paths below the name of a domain are its paths too, and are not served. */
const ownPath =
  /^\/v3\/[^/.]{1,255}\.[^/]{1,255}\/|^\/v3\/[^/]{1,255}\/(?:messages|messages\.mime|events|bounces|complaints|unsubscribes)(?:\/|$)/

export function mailgunService(deps: MailgunDeps): CompatibleService {
  return {
    name: 'mailgun',
    title: 'Mailgun',
    keyScheme: { type: 'http', scheme: 'basic' },
    owns: (path) => ownPath.test(path) && !isSendGridPath(path),
    routes: [sendRoute(deps), sendMessageRoute(deps), ...mailgunEventRoutes(deps), ...mailgunSuppressionRoutes(deps)],
    errorSchema: z.object({ message: z.string() }).meta({ id: 'MailgunError' }),
    toError,
  }
}

const sent = z
  .object({
    id: z.string().meta({ description: 'The Message-ID. Emails of one request have the same.' }),
    message: z.string(),
  })
  .meta({
    id: 'MailgunAnswer',
    example: { id: '<01a1ff35-3880-7ef5-bbba-0d7e1de2529c@mail.example.com>', message: 'Queued. Thank you.' },
  })

type Sent = z.output<typeof sent>

const style: BatchStyle<Sent> = {
  tracksByDefault: false,
  // The service accepts mail to such recipients, and reports it as failed.
  keepsSuppressed: true,
  strict: true,
  inParts: true,
  sharesBytes: true,
  toItem: ({ enqueued }) => toSent(enqueued.email.message_id),
  toAnswer: ([first]) => first,
}

function toSent(messageId: string): Sent {
  return { id: messageId, message: 'Queued. Thank you.' }
}

const common = {
  method: 'POST',
  area: 'send',
  tag: 'Messages',
  refusals: [],
  params: { domain: 'A domain of the workspace.' },
  answers: { 200: { description: 'It is stored, and will be delivered.', schema: sent } },
} as const

function sendRoute(deps: MailgunDeps): Route {
  return route<undefined, MailgunMail>({
    ...{ ...common, path: '/v3/:domain/messages', summary: 'Send an email' },
    description:
      'With `recipient-variables` each recipient gets an email alone. If one is refused, none is sent; of more than ' +
      '100, those of the parts before it are.',
    raw: {
      ...{ types: formTypes, limit: MAX_BODY, schema: mailgunFields },
      example: { from: 'app@example.com', to: 'bob@example.com', subject: 'Hello', text: 'Hello Bob' },
      parse: parseForms((form) => new MailgunMail(parseInput(mailgunFields, collectMailgunFields(form)))),
    },
    run: (call) => send(deps, call),
  })
}

async function send(deps: MailgunDeps, call: Call<undefined, MailgunMail>): Promise<Answer> {
  await requireDomain(deps, call)
  const { body: mail, now } = call
  const manner = { ...style, isTest: mail.isTest }
  const { single } = mail
  if (single !== null) return { kind: 'text', status: 200, ...(await deps.acceptance.accept(call, single, manner)) }
  await mail.check()
  const emails = mail.withMessageId(createMessageId(uuidv7(now), deps.hostname))
  const listAgain = ({ id }: Sent): RequestList => mail.withMessageId(id)
  return { kind: 'text', status: 200, ...(await deps.acceptance.acceptAll(call, emails, { ...manner, listAgain })) }
}

function sendMessageRoute(deps: MailgunDeps): Route {
  return route<undefined, MailgunMessage>({
    ...{ ...common, path: '/v3/:domain/messages.mime', summary: 'Send a composed message' },
    raw: {
      ...{ types: formTypes, limit: MAX_BODY, schema: mailgunMessageFields },
      example: { to: 'bob@example.com', message: 'From: app@example.com\r\nSubject: Hello\r\n\r\nHello Bob\r\n' },
      parse: parseForms(readMailgunMessage),
    },
    run: (call) => sendMessage(deps, call),
  })
}

async function sendMessage(deps: MailgunDeps, call: Call<undefined, MailgunMessage>): Promise<Answer> {
  await requireDomain(deps, call)
  const { principal, body, now } = call
  const { raw, to, tags, isTest, trackOpens, trackClicks, deliveryTime } = body
  const id = await deps.messages.accept(
    call,
    { raw, to },
    {
      ...{ tags, isTest, keepsSuppressed: true },
      options: {
        ...{ trackOpens, trackClicks },
        scheduledFor: deliveryTime === null ? null : parseReleaseTime(deliveryTime, now, 'o:deliverytime'),
      },
    },
  )
  const [email] = await emailById(deps.read, { workspaceId: principal.workspaceId, id })
  if (email === undefined) throw new Error('an accepted email is not there')
  return { kind: 'json', status: 200, body: toSent(email.message_id), emails: [id] }
}

/** The service has no answers 415 and 422. */
function toError({ error: { message, status } }: ErrorBody): ServiceError {
  if (status === 401) return { status, body: { message: 'Forbidden' } }
  return { status: status === 415 || status === 422 ? 400 : status, body: { message } }
}
