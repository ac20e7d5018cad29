/** The service Amazon SES, version 2: one email, or several from a template, and its errors. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { BatchStyle, EmailAcceptance } from '../emails/email-acceptance.js'
import type { MessageAcceptance } from '../emails/message-acceptance.js'
import type { Answer } from '../http/answer.js'
import type { ErrorBody, ErrorCode } from '../http/error-answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import type { CompatibleService, ServiceError } from '../http/route/compatible-service.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type SesBulk, SesBulkEmails, type SesRequest, sesBulkEmail, sesEmail } from './ses-email.js'

const PATHS = { one: '/v2/email/outbound-emails', several: '/v2/email/outbound-bulk-emails' } as const

export function sesService(acceptance: EmailAcceptance, messages: MessageAcceptance): CompatibleService {
  return {
    name: 'ses',
    title: 'Amazon SES',
    keyScheme: { type: 'apiKey', in: 'header', name: 'Authorization' },
    owns: (path) => path.startsWith('/v2/email/'),
    routes: [sendRoute(acceptance, messages), sendSeveralRoute(acceptance)],
    requestIdField: 'x-amzn-RequestId',
    errorSchema: z.object({ message: z.string() }).meta({ id: 'SesError' }),
    toError,
  }
}

const sent = z.object({ MessageId: z.string() }).meta({ id: 'SesAnswer' })
const result = z.object({
  Status: z.enum(['SUCCESS', 'FAILED']),
  MessageId: z.string().optional(),
  Error: z.string().optional(),
})
type Result = z.output<typeof result>

/** Mail to suppressed recipients is accepted, and reported as suppressed. */
const manner = { tracksByDefault: false, keepsSuppressed: true }
const common = { method: 'POST', area: 'send', tag: 'Emails', maxBody: MAX_BODY, refusals: [] } as const

function sendRoute(acceptance: EmailAcceptance, messages: MessageAcceptance): Route {
  return route<undefined, SesRequest>({
    ...{ ...common, path: PATHS.one, summary: 'Send an email', body: sesEmail },
    answers: { 200: { description: 'It is stored, and will be delivered.', schema: sent } },
    run: (call) => send(acceptance, messages, call),
  })
}

async function send(
  acceptance: EmailAcceptance,
  messages: MessageAcceptance,
  call: Call<undefined, SesRequest>,
): Promise<Answer> {
  const { body } = call
  if (body.kind === 'message') {
    const id = await messages.accept(call, body, { tags: body.tags, keepsSuppressed: true })
    return { kind: 'json', status: 200, body: { MessageId: id }, emails: [id] }
  }
  const style = { ...manner, toItem: toResult }
  return { kind: 'text', status: 200, ...(await acceptance.accept(call, body.email, style)) }
}

type Accepted = Parameters<BatchStyle<Result>['toItem']>[0]

function toResult({ enqueued }: Accepted): { readonly MessageId: string } {
  return { MessageId: enqueued.email.id }
}

const bulkStyle: BatchStyle<Result> = {
  ...{ ...manner, strict: false, inParts: true, sharesBytes: true },
  toItem: (accepted) => ({ Status: 'SUCCESS', ...toResult(accepted) }),
  toAnswer: (items) => ({
    BulkEmailEntryResults: items.map((item) =>
      item instanceof Refusal ? { Status: 'FAILED', Error: item.message } : item,
    ),
  }),
}

function sendSeveralRoute(acceptance: EmailAcceptance): Route {
  return route<undefined, SesBulk>({
    ...{ ...common, path: PATHS.several, summary: 'Send emails from a template', body: sesBulkEmail },
    answers: {
      200: { description: 'A result for each.', schema: z.object({ BulkEmailEntryResults: z.array(result) }) },
    },
    run: async (call) => ({
      kind: 'text',
      status: 200,
      ...(await acceptance.acceptAll(call, new SesBulkEmails(call.body), bulkStyle)),
    }),
  })
}

/** The type of the exception, which clients read from a field of the header. */
const types: { readonly [Code in ErrorCode]?: string } = {
  missing_api_key: 'MissingAuthenticationTokenException',
  invalid_api_key: 'UnrecognizedClientException',
  api_key_expired: 'ExpiredTokenException',
  insufficient_permissions: 'AccessDeniedException',
  invalid_from_address: 'MailFromDomainNotVerifiedException',
  domain_not_verified: 'MailFromDomainNotVerifiedException',
  not_found: 'NotFoundException',
  template_not_found: 'NotFoundException',
  attachment_too_large: 'MessageRejected',
  payload_too_large: 'MessageRejected',
  insufficient_quota: 'LimitExceededException',
  rate_limit_exceeded: 'TooManyRequestsException',
  daily_limit_exceeded: 'TooManyRequestsException',
  quota_exceeded: 'TooManyRequestsException',
  internal_server_error: 'InternalServiceErrorException',
  service_unavailable: 'ServiceUnavailableException',
}

function toError({ error: { code, message, status } }: ErrorBody): ServiceError {
  const isClientUnknown = status === 401
  const headers = { 'x-amzn-ErrorType': types[code] ?? 'BadRequestException' }
  return { status: isClientUnknown ? 403 : status === 402 || status === 422 ? 400 : status, body: { message }, headers }
}
