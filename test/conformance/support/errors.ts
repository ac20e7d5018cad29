/** Errors as the document lists them: the status of each code, and the form of its details. */
import type { ExpectedRefusal } from './row.js'
import {
  anything,
  equals,
  filledText,
  freeObject,
  hasFields,
  integer,
  list,
  optional,
  record,
  type Shape,
  timestamp,
} from './shapes.js'

/** The document's table; below the line, what is added to it. */
export const statusOfCode: Readonly<Record<string, number>> = {
  missing_api_key: 401,
  invalid_api_key: 401,
  api_key_expired: 401,
  insufficient_permissions: 403,
  validation_error: 400,
  missing_required_field: 400,
  invalid_email_address: 400,
  invalid_from_address: 400,
  invalid_template_variables: 400,
  attachment_too_large: 400,
  invalid_json: 400,
  not_found: 404,
  email_not_found: 404,
  domain_not_found: 404,
  template_not_found: 404,
  audience_not_found: 404,
  contact_not_found: 404,
  webhook_not_found: 404,
  rate_limit_exceeded: 429,
  daily_limit_exceeded: 429,
  quota_exceeded: 429,
  domain_not_verified: 400,
  domain_verification_failed: 400,
  domain_already_exists: 409,
  dkim_verification_failed: 400,
  spf_verification_failed: 400,
  internal_server_error: 500,
  service_unavailable: 503,
  gateway_timeout: 504,
  email_delivery_failed: 500,
  // Decided where the document leaves it open.
  insufficient_quota: 402,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  all_recipients_suppressed: 422,
}

const fieldErrors = (fields: readonly string[] | undefined): Shape =>
  list(
    record({
      field: fields === undefined ? anything : equals(...fields),
      message: filledText,
      value: anything,
    }),
    fields === undefined ? { atLeast: 1 } : { exactly: fields.length },
  )

const ofRate = hasFields({
  retry_after: integer,
  limit: integer,
  remaining: integer,
  reset_at: timestamp,
})

/** The complete body of an error. */
export function errorShape({ code, fields, id, details }: ExpectedRefusal): Shape {
  const status = statusOfCode[code]
  if (status === undefined) throw new Error(`the document has no code ${code}`)
  return record({
    error: record({
      code: equals(code),
      message: filledText,
      status: equals(status),
      details: details ?? detailsOf(code, fields, id),
      retry_after: status === 429 ? integer : optional(equals()),
    }),
    ...{ name: equals(code), message: filledText, statusCode: equals(status) },
  })
}

function detailsOf(code: string, fields: readonly string[] | undefined, id: string | undefined): Shape {
  if (fields !== undefined || ofFields.has(code)) return hasFields({ errors: fieldErrors(fields) })
  if (statusOfCode[code] === 404 && id !== undefined) return hasFields({ id: equals(id) })
  if (statusOfCode[code] === 429) return ofRate
  return optional(freeObject)
}

const ofFields: ReadonlySet<string> = new Set([
  'validation_error',
  'missing_required_field',
  'invalid_email_address',
  'invalid_from_address',
])
