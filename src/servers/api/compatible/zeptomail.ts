/**
 * The service ZeptoMail, version 1.1 (https://www.zoho.com/zeptomail/help/api/email-sending.html): one email to all, one
 * for each recipient, and both from a template.
 */
import { z } from 'zod'
import type { BatchStyle, EmailAcceptance, EmailStyle, RequestList } from '../emails/email-acceptance.js'
import type { Answer } from '../http/answer.js'
import { type ErrorBody, fieldFaultsOf } from '../http/error-answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import type { CompatibleService, ServiceError } from '../http/route/compatible-service.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type ZeptoMail, ZeptoMailEmails, zeptoMail } from './zeptomail-request.js'

const PATHS = ['/v1.1/email', '/v1.1/email/batch', '/v1.1/email/template', '/v1.1/email/template/batch'] as const

export function zeptoMailService(acceptance: EmailAcceptance): CompatibleService {
  return {
    name: 'zeptomail',
    title: 'ZeptoMail',
    keyScheme: { type: 'apiKey', in: 'header', name: 'Authorization' },
    owns: (path) => path === '/v1.1/email' || path.startsWith('/v1.1/email/'),
    routes: PATHS.map((path) => sendRoute(acceptance, path)),
    errorSchema,
    toError,
  }
}

const sent = z
  .object({
    data: z.array(z.object({ code: z.string(), additional_info: z.array(z.string()), message: z.string() })),
    message: z.string(),
    request_id: z.string().meta({ description: 'The id of the first email.' }),
    object: z.literal('email'),
  })
  .meta({ id: 'ZeptoMailAnswer' })

function toAnswer(id: string): z.output<typeof sent> {
  const data = [{ code: 'EM_104', additional_info: [], message: 'Email request received' }]
  return { data, message: 'OK', request_id: id, object: 'email' }
}

/** Mail to suppressed recipients is accepted, and reported as suppressed. */
const manner = { tracksByDefault: false, keepsSuppressed: true }
const style: EmailStyle<unknown> = { ...manner, toItem: ({ enqueued }) => toAnswer(enqueued.email.id) }
const batchStyle: BatchStyle<unknown> = {
  ...style,
  ...{ strict: true, inParts: true, sharesBytes: true },
  toAnswer: ([first]) => first,
}

function sendRoute(acceptance: EmailAcceptance, path: (typeof PATHS)[number]): Route {
  const isBatch = path.endsWith('/batch')
  return route<undefined, ZeptoMail>({
    ...{ method: 'POST', path, area: 'send', tag: 'Email' },
    summary: isBatch ? 'Send an email to each recipient' : 'Send an email',
    body: zeptoMail,
    maxBody: MAX_BODY,
    answers: { 201: { description: 'It is stored, and will be delivered.', schema: sent } },
    refusals: [],
    run: (call) => send(acceptance, call, isBatch),
  })
}

async function send(acceptance: EmailAcceptance, call: Call<undefined, ZeptoMail>, isBatch: boolean): Promise<Answer> {
  const emails = new ZeptoMailEmails(call.body)
  const accepted = isBatch
    ? await acceptance.acceptAll(call, emails satisfies RequestList, batchStyle)
    : await acceptance.accept(call, await emails.toOne(), style)
  return { kind: 'text', status: 201, ...accepted }
}

const errorSchema = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      details: z.array(z.object({ code: z.string(), message: z.string(), target: z.string() })),
      request_id: z.string(),
    }),
  })
  .meta({ id: 'ZeptoMailError' })

/** The codes of the service for a missing field, another fault of a field, and a wrong key. */
const codes = { missing: 'TM_3201', invalid: 'TM_3301', key: 'TM_4001', limit: 'TM_3501' } as const

function toError(body: ErrorBody, requestId: string): ServiceError {
  const { code, message, status } = body.error
  const faults = fieldFaultsOf(body).map((fault) => ({ code, message: fault.message, target: fault.field }))
  const details = faults.length === 0 ? [{ code, message, target: '' }] : faults
  return { status, body: { error: { code: codes[kindOf(body)], message, details, request_id: requestId } } }
}

function kindOf({ error: { code, status } }: ErrorBody): keyof typeof codes {
  if (status === 401) return 'key'
  if (status === 402 || status === 429) return 'limit'
  return code === 'missing_required_field' ? 'missing' : 'invalid'
}
