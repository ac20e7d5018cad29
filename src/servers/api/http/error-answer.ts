/**
 * Turns what our functions throw into the error body that an HTTP client reads, with its code and status.
 *
 * A Refusal is answered with its code, message and details. Anything else is a bug or a fault of
 * the database: the client gets a fixed text, the log gets the error.
 */
import { Refusal, type RefusalKind } from '../../../base/mail/refusal.js'
import { ownValueOf } from '../../../base/platform/records.js'
import { StorageFault } from '../../../base/storage/db/write.js'

/** Every `error.code` of the interface, with its HTTP status. */
export const statusOfCode = {
  validation_error: 400,
  missing_required_field: 400,
  invalid_json: 400,
  invalid_email_address: 400,
  invalid_from_address: 400,
  invalid_template_variables: 400,
  domain_not_verified: 400,
  domain_verification_failed: 400,
  dkim_verification_failed: 400,
  spf_verification_failed: 400,
  attachment_too_large: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  api_key_expired: 401,
  authentication_required: 401,
  invalid_credentials: 401,
  insufficient_quota: 402,
  insufficient_permissions: 403,
  not_found: 404,
  email_not_found: 404,
  domain_not_found: 404,
  template_not_found: 404,
  audience_not_found: 404,
  contact_not_found: 404,
  webhook_not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  domain_already_exists: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  all_recipients_suppressed: 422,
  rate_limit_exceeded: 429,
  daily_limit_exceeded: 429,
  quota_exceeded: 429,
  internal_server_error: 500,
  service_unavailable: 503,
  gateway_timeout: 504,
} as const

export type ErrorCode = keyof typeof statusOfCode

export const codeOfRefusal: Readonly<Record<RefusalKind, ErrorCode>> = {
  'malformed-message': 'validation_error',
  'bare-line-break': 'validation_error',
  'line-too-long': 'validation_error',
  'invalid-address': 'invalid_email_address',
  'invalid-parameter': 'validation_error',
  'missing-field': 'missing_required_field',
  'invalid-json': 'invalid_json',
  'unsupported-media-type': 'unsupported_media_type',
  'method-not-allowed': 'method_not_allowed',
  'bad-credentials': 'invalid_api_key',
  'key-expired': 'api_key_expired',
  'signed-out': 'authentication_required',
  'wrong-password': 'invalid_credentials',
  'authentication-required': 'missing_api_key',
  'too-many-failures': 'rate_limit_exceeded',
  forbidden: 'insufficient_permissions',
  'sender-not-verified': 'invalid_from_address',
  'unknown-recipient': 'validation_error',
  'relay-denied': 'insufficient_permissions',
  'recipient-blocked': 'insufficient_permissions',
  'sender-not-authenticated': 'insufficient_permissions',
  'all-recipients-suppressed': 'all_recipients_suppressed',
  'too-many-recipients': 'validation_error',
  'attachment-too-large': 'attachment_too_large',
  'too-large': 'payload_too_large',
  'mailbox-full': 'quota_exceeded',
  'mail-loop': 'validation_error',
  'rate-limited': 'rate_limit_exceeded',
  'daily-limit': 'daily_limit_exceeded',
  'quota-exceeded': 'quota_exceeded',
  'insufficient-quota': 'insufficient_quota',
  conflict: 'conflict',
  'domain-not-verified': 'domain_not_verified',
  'domain-taken': 'domain_already_exists',
  'not-found': 'not_found',
  'email-not-found': 'email_not_found',
  'domain-not-found': 'domain_not_found',
  'template-not-found': 'template_not_found',
  'audience-not-found': 'audience_not_found',
  'contact-not-found': 'contact_not_found',
  'webhook-not-found': 'webhook_not_found',
  'invalid-template-variables': 'invalid_template_variables',
  'domain-not-proved': 'domain_verification_failed',
  'dkim-not-proved': 'dkim_verification_failed',
  'spf-not-proved': 'spf_verification_failed',
  'no-answer': 'gateway_timeout',
  'storage-full': 'service_unavailable',
  draining: 'service_unavailable',
  unavailable: 'service_unavailable',
}

export interface ErrorBody {
  readonly error: {
    readonly code: ErrorCode
    readonly message: string
    readonly status: number
    readonly details?: Readonly<Record<string, unknown>>
    /** Seconds; with status 429 only, the same as in `details`. */
    readonly retry_after?: number
  }
}

/**
 * A fault of one part of a request, for which all of it is refused: 422 in place of 400 and 404, with the code of the
 * fault.
 */
export class UnprocessableRefusal extends Refusal {
  constructor({ kind, message, details }: Refusal) {
    super(kind, message, details)
  }
}

/** Something thrown after a part of the request was done, which the client must know. */
export class PartlyDone extends Error {
  override name = 'PartlyDone'

  /** `done` says what is done, and what to do about the rest. */
  constructor(
    override readonly cause: unknown,
    readonly done: string,
    readonly details: Readonly<Record<string, unknown>>,
  ) {
    super(done)
  }
}

/** The body for anything thrown; `report` gets errors that the client must not see. */
export function toErrorBody(error: unknown, report: (error: unknown) => void): ErrorBody {
  if (error instanceof PartlyDone) return toPartlyDone(error, toErrorBody(error.cause, report))
  if (error instanceof UnprocessableRefusal) return toUnprocessable(toRefusalBody(error))
  if (error instanceof Refusal) return toRefusalBody(error)
  report(error)
  return error instanceof StorageFault
    ? buildErrorBody('service_unavailable', 'the service cannot store anything now, try again later')
    : buildErrorBody('internal_server_error', 'internal error')
}

function toPartlyDone({ done, details }: PartlyDone, { error }: ErrorBody): ErrorBody {
  return { error: { ...error, message: `${error.message}; ${done}`, details: { ...error.details, ...details } } }
}

/** What is sent: `name`, `message` and `statusCode` are where the client of Resend reads them. */
export type SentError = ErrorBody & { readonly name: ErrorCode; readonly message: string; readonly statusCode: number }

export function toSentError(body: ErrorBody): SentError {
  const { code, message, status } = body.error
  return { ...body, name: code, message, statusCode: status }
}

/** A limit or a lack of permission keeps its status, because clients act on it. */
function toUnprocessable({ error }: ErrorBody): ErrorBody {
  return error.status === 400 || error.status === 404 ? { error: { ...error, status: 422 } } : { error }
}

/** `Retry-After` with 429 and 503, `Allow` with 405. */
export function errorHeaders({ error: { status, details = {} } }: ErrorBody): Record<string, string> {
  const { retry_after: retryAfter, allowed } = details
  const headers: Record<string, string> = {}
  if (status === 429 || status === 503) {
    headers['Retry-After'] = String(typeof retryAfter === 'number' ? retryAfter : DEFAULT_RETRY_AFTER)
  }
  if (status === 405 && Array.isArray(allowed)) headers['Allow'] = allowed.join(', ')
  return headers
}

/** Seconds, for errors that name no time. */
const DEFAULT_RETRY_AFTER = 5

function toRefusalBody({ kind, message, details: given }: Refusal): ErrorBody {
  const code = codeOfRefusal[kind]
  if (statusOfCode[code] !== 429) {
    if (Object.keys(given).length === 0) return buildErrorBody(code, message)
    return buildErrorBody(code, message, { details: toApiDetails(code, message, given) })
  }
  const details = { retry_after: DEFAULT_RETRY_AFTER, ...given }
  return buildErrorBody(code, message, { details, retry_after: Number(details.retry_after) })
}

/** The fields at fault. None if the error is not about fields. */
export function fieldFaultsOf({ error: { details = {} } }: ErrorBody): readonly FieldFault[] {
  const { errors } = details
  if (!Array.isArray(errors)) return []
  return errors.map((one: unknown) => ({
    field: String(ownValueOf(one, 'field') ?? ''),
    message: String(ownValueOf(one, 'message') ?? ''),
  }))
}

interface FieldFault {
  /** Empty for the complete body. */
  readonly field: string
  readonly message: string
}

const validationCodes: ReadonlySet<ErrorCode> = new Set([
  'validation_error',
  'missing_required_field',
  'invalid_email_address',
  'invalid_from_address',
  'attachment_too_large',
])

/** Refusals of lower rooms name one field and its value; the interface lists them in `errors`. */
function toApiDetails(
  code: ErrorCode,
  message: string,
  details: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (!validationCodes.has(code) || details['errors'] !== undefined) return details
  const { field = '', value = null, ...others } = details
  const prefix = `${String(field)}: `
  const rule = message.startsWith(prefix) ? message.slice(prefix.length) : message
  return { ...others, errors: [{ field, message: rule, value }] }
}

function buildErrorBody(code: ErrorCode, message: string, more: Partial<ErrorBody['error']> = {}): ErrorBody {
  return { error: { code, message, status: statusOfCode[code], ...more } }
}
