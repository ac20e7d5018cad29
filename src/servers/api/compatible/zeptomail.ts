/**
 * The service ZeptoMail, version 1.1 (https://www.zoho.com/zeptomail/help/api/email-sending.html): one email to all, one
 * for each recipient, and both from a template.
 */
import { z } from 'zod'
import { MAX_TAG_TEXT } from '../../../outbound/sending/dialect-fields.js'
import type { BatchDoor, Door, EmailAcceptance, RequestList } from '../emails/email-acceptance.js'
import type { Answer } from '../http/answer.js'
import type { ErrorBody } from '../http/error-answer.js'
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
const door: Door<unknown> = { ...manner, toItem: ({ enqueued }) => toAnswer(enqueued.email.id) }
const batchDoor: BatchDoor<unknown> = { ...door, strict: true, inParts: true, toAnswer: ([first]) => first }

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
    ? await acceptance.acceptAll(call, emails satisfies RequestList, batchDoor)
    : await acceptance.accept(call, emails.toOne(), door)
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

interface FieldFault {
  readonly field: string
  readonly message: string
}

/** The codes of the service for a missing field, another fault of a field, and a wrong key. */
const codes = { missing: 'TM_3201', invalid: 'TM_3301', key: 'TM_4001', limit: 'TM_3501' } as const

function toError({ error: { code, message, status, details = {} } }: ErrorBody, requestId: string): ServiceError {
  const kind =
    status === 401
      ? 'key'
      : status === 429 || status === 402
        ? 'limit'
        : code === 'missing_required_field'
          ? 'missing'
          : 'invalid'
  const faults = Array.isArray(details['errors']) ? (details['errors'] as readonly FieldFault[]) : []
  const listed = faults.map(({ field, message: rule }) => ({
    code,
    message: rule,
    target: field.slice(0, MAX_TAG_TEXT),
  }))
  const all = listed.length === 0 ? [{ code, message, target: '' }] : listed
  return { status, body: { error: { code: codes[kind], message, details: all, request_id: requestId } } }
}
