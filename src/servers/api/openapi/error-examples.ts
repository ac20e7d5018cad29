/** An example of the error body for each code, for the OpenAPI document. */
import { type ErrorCode, type SentError, statusOfCode, toSentError } from '../http/error-answer.js'

interface ErrorTexts {
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

const ID = '01a1ff35-3880-7ef5-bbba-0d7e1de2529c'
const notFoundExample = (what: string): ErrorTexts => ({ message: `no such ${what}: ${ID}`, details: { id: ID } })
const invalidFieldExample = (field: string, message: string, value: string | number | null): ErrorTexts => ({
  message: `${field}: ${message}`,
  details: { errors: [{ field, message, value }] },
})
const exampleRecord = {
  type: 'CNAME',
  name: 'dkim1._domainkey.example.com',
  expected: 'dkim1.mx.example.net',
  found: [],
}
const failedRecordsExample = (message: string): ErrorTexts => ({
  message,
  details: { records: [{ ...exampleRecord, status: 'failed' }] },
})

const exampleErrors: Readonly<Record<ErrorCode, ErrorTexts>> = {
  validation_error: invalidFieldExample('limit', 'must be a whole number from 1 to 100', '101'),
  missing_required_field: invalidFieldExample('to', 'is required', null),
  invalid_json: { message: 'the body is not valid JSON' },
  invalid_email_address: invalidFieldExample('to', 'is not one mail address, such as bob@example.com', 'bob'),
  invalid_from_address: invalidFieldExample(
    'from',
    'example.org is not a verified domain of the workspace',
    'app@example.org',
  ),
  invalid_template_variables: { message: 'values are missing: first_name', details: { variables: ['first_name'] } },
  domain_not_verified: { message: 'the domain is not verified', details: { id: ID } },
  domain_verification_failed: failedRecordsExample('DNS does not have the records of the domain'),
  dkim_verification_failed: failedRecordsExample('DNS does not have the DKIM keys of the domain'),
  spf_verification_failed: failedRecordsExample('DNS does not have the mail host of the domain'),
  attachment_too_large: invalidFieldExample(
    'attachments[0].content',
    'has 10485761 bytes, allowed: 10485760',
    10_485_761,
  ),
  missing_api_key: { message: 'no API key: send "Authorization: Bearer" and the key' },
  invalid_api_key: { message: 'the key is wrong or revoked' },
  api_key_expired: { message: 'the key has expired' },
  authentication_required: { message: 'you are not signed in' },
  invalid_credentials: { message: 'the mail address or the password is wrong' },
  insufficient_quota: { message: 'the credits are used up', details: { credits_remaining: 0 } },
  insufficient_permissions: { message: 'not permitted: the key may not do this' },
  not_found: notFoundExample('resource'),
  email_not_found: notFoundExample('email'),
  domain_not_found: notFoundExample('domain'),
  template_not_found: notFoundExample('template'),
  audience_not_found: notFoundExample('audience'),
  contact_not_found: notFoundExample('contact'),
  webhook_not_found: notFoundExample('webhook'),
  method_not_allowed: { message: 'PUT is not allowed here', details: { allowed: ['GET', 'POST'] } },
  conflict: { message: 'bob@example.com is in this audience already', details: { id: ID } },
  domain_already_exists: { message: 'another workspace has verified this domain' },
  payload_too_large: { message: 'the body is larger than 23068672 bytes', details: { limit: 23_068_672 } },
  unsupported_media_type: { message: 'Content-Type: must be application/json in UTF-8' },
  all_recipients_suppressed: {
    message: 'all recipients are suppressed',
    details: { suppressed: ['bob@example.com'] },
  },
  rate_limit_exceeded: { message: 'too many requests', details: { retry_after: 1 } },
  daily_limit_exceeded: { message: 'the emails of the day are used up', details: { retry_after: 3_600 } },
  quota_exceeded: { message: 'the emails of the month are used up', details: { retry_after: 86_400 } },
  internal_server_error: { message: 'internal error' },
  service_unavailable: { message: 'the service cannot store anything now, try again later' },
  gateway_timeout: { message: 'DNS does not answer', details: { domain: 'example.com' } },
}

export function buildErrorExample(code: ErrorCode): SentError {
  const { message, details } = exampleErrors[code]
  const status = statusOfCode[code]
  const wait = details?.['retry_after']
  return toSentError({
    error: {
      ...{ code, message, status },
      ...(details === undefined ? {} : { details }),
      ...(status === 429 ? { retry_after: Number(wait) } : {}),
    },
  })
}
