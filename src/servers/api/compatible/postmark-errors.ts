/** Says errors as Postmark's clients read them (https://postmarkapp.com/developer/api/overview#error-codes). */
import type { Refusal } from '../../../base/mail/refusal.js'
import { type ErrorBody, type ErrorCode, toErrorBody } from '../http/error-answer.js'
import type { ServiceError } from '../http/route/compatible-service.js'

interface PostmarkError {
  readonly ErrorCode: number
  readonly Message: string
}

/** HTTP status and `ErrorCode`. Codes that are not here are errors of the request. */
const codes: { readonly [Code in ErrorCode]?: readonly [status: number, code: number] } = {
  missing_api_key: [401, 10],
  invalid_api_key: [401, 10],
  api_key_expired: [401, 10],
  insufficient_permissions: [422, 412],
  invalid_from_address: [422, 400],
  domain_not_verified: [422, 401],
  invalid_json: [422, 402],
  insufficient_quota: [422, 405],
  all_recipients_suppressed: [422, 406],
  unsupported_media_type: [422, 409],
  template_not_found: [422, 1101],
  invalid_template_variables: [422, 1109],
  not_found: [404, 300],
  method_not_allowed: [405, 300],
  rate_limit_exceeded: [429, 429],
  daily_limit_exceeded: [429, 429],
  quota_exceeded: [429, 429],
  internal_server_error: [500, 500],
  service_unavailable: [503, 100],
}

export function toPostmarkError({ error }: ErrorBody): ServiceError {
  const [status, ErrorCode] = codes[error.code] ?? [422, 300]
  return { status, body: { ErrorCode, Message: describe(error) } satisfies PostmarkError }
}

/** The error of one message of a batch. */
export function postmarkError(refusal: Refusal): PostmarkError {
  const { error } = toErrorBody(refusal, () => undefined)
  return { ErrorCode: codes[error.code]?.[1] ?? 300, Message: describe(error) }
}

/** Clients read the addresses out of this text: that for Node.js at the first place, that for Ruby at the second. */
function describe({ code, message, details = {} }: ErrorBody['error']): string {
  const { suppressed } = details
  if (code !== 'all_recipients_suppressed' || !Array.isArray(suppressed)) return message
  const addresses = suppressed.join(', ')
  return (
    'You tried to send to recipients that are on the suppression list. ' +
    `Found inactive addresses: ${addresses}. Inactive recipients get no mail until you remove from the list ` +
    `these inactive addresses: ${addresses}.`
  )
}
