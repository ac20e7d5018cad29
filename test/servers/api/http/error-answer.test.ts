/** Errors as answers: code, status, details, header fields. */
import t from 'tap'
import { Refusal, type RefusalKind } from '../../../../src/base/mail/refusal.js'
import { ConstraintViolated, StorageFault, WriteConflict } from '../../../../src/base/storage/db/write.js'
import {
  type ErrorBody,
  errorHeaders,
  toErrorBody,
  UnprocessableRefusal,
} from '../../../../src/servers/api/http/error-answer.js'

const ofRefusal = (kind: RefusalKind, details: Record<string, unknown> = {}): ErrorBody['error'] =>
  toErrorBody(new Refusal(kind, 'why', details), () => t.fail('a refusal is no bug')).error

t.test('every kind of refusal has its documented code and status', async (t) => {
  const documented: Record<RefusalKind, string> = {
    'malformed-message': '400 validation_error',
    'bare-line-break': '400 validation_error',
    'line-too-long': '400 validation_error',
    'invalid-address': '400 invalid_email_address',
    'invalid-parameter': '400 validation_error',
    'missing-field': '400 missing_required_field',
    'invalid-json': '400 invalid_json',
    'unsupported-media-type': '415 unsupported_media_type',
    'method-not-allowed': '405 method_not_allowed',
    'bad-credentials': '401 invalid_api_key',
    'key-expired': '401 api_key_expired',
    'signed-out': '401 authentication_required',
    'wrong-password': '401 invalid_credentials',
    'authentication-required': '401 missing_api_key',
    'too-many-failures': '429 rate_limit_exceeded',
    forbidden: '403 insufficient_permissions',
    'sender-not-verified': '400 invalid_from_address',
    'unknown-recipient': '400 validation_error',
    'relay-denied': '403 insufficient_permissions',
    'recipient-blocked': '403 insufficient_permissions',
    'sender-not-authenticated': '403 insufficient_permissions',
    'all-recipients-suppressed': '422 all_recipients_suppressed',
    'too-many-recipients': '400 validation_error',
    'attachment-too-large': '400 attachment_too_large',
    'too-large': '413 payload_too_large',
    'mailbox-full': '429 quota_exceeded',
    'mail-loop': '400 validation_error',
    'rate-limited': '429 rate_limit_exceeded',
    'daily-limit': '429 daily_limit_exceeded',
    'quota-exceeded': '429 quota_exceeded',
    'insufficient-quota': '402 insufficient_quota',
    conflict: '409 conflict',
    'domain-not-verified': '400 domain_not_verified',
    'domain-taken': '409 domain_already_exists',
    'not-found': '404 not_found',
    'email-not-found': '404 email_not_found',
    'domain-not-found': '404 domain_not_found',
    'template-not-found': '404 template_not_found',
    'audience-not-found': '404 audience_not_found',
    'contact-not-found': '404 contact_not_found',
    'webhook-not-found': '404 webhook_not_found',
    'invalid-template-variables': '400 invalid_template_variables',
    'domain-not-proved': '400 domain_verification_failed',
    'dkim-not-proved': '400 dkim_verification_failed',
    'spf-not-proved': '400 spf_verification_failed',
    'no-answer': '504 gateway_timeout',
    'storage-full': '503 service_unavailable',
    draining: '503 service_unavailable',
    unavailable: '503 service_unavailable',
  }
  for (const [kind, expected] of Object.entries(documented)) {
    const { status, code, message } = ofRefusal(kind as RefusalKind)
    t.equal(`${status} ${code}`, expected, kind)
    t.equal(message, 'why')
  }
})

t.test('any other error is a bug or a fault of the database, and the answer hides its text', async (t) => {
  const reported: unknown[] = []
  const bugs = [new WriteConflict('sql'), new ConstraintViolated('sql'), new TypeError('x'), 'text', undefined, null]
  for (const bug of [...bugs, new StorageFault('SQLITE_IOERR', 'disk')]) {
    const { error } = toErrorBody(bug, (err) => reported.push(err))
    const fault = bug instanceof StorageFault
    t.equal(error.status, fault ? 503 : 500)
    t.equal(error.details, undefined)
    t.notMatch(error.message, /sql|disk/i)
  }
  t.equal(reported.length, 7)
})

t.test('the time to retry stands in details, on the error and in the header', async (t) => {
  const limited = ofRefusal('rate-limited', { retry_after: 7, limit: 1 })
  t.match(limited, { retry_after: 7, details: { retry_after: 7, limit: 1 } })
  t.same(errorHeaders({ error: limited }), { 'Retry-After': '7' })
  for (const kind of ['daily-limit', 'quota-exceeded', 'too-many-failures'] as const) {
    const found = ofRefusal(kind)
    t.equal(found.retry_after, found.details?.['retry_after'], kind)
    t.type(found.retry_after, 'number', kind)
  }
  const busy = ofRefusal('unavailable', { retry_after: 3 })
  t.equal(busy.retry_after, undefined, 'on 429 alone')
  t.same(errorHeaders({ error: busy }), { 'Retry-After': '3' })
  t.match(errorHeaders({ error: ofRefusal('storage-full') }), { 'Retry-After': /^\d+$/ })
  const method = ofRefusal('method-not-allowed', { allowed: ['GET', 'HEAD'] })
  t.same(errorHeaders({ error: method }), { Allow: 'GET, HEAD' })
  t.same(errorHeaders({ error: ofRefusal('not-found', { id: 'x' }) }), {})
})

t.test('a refusal that names one field is reported in the form of the interface', async (t) => {
  t.same(ofRefusal('invalid-parameter', { field: 'name', value: 'x', limit: 3 }).details, {
    limit: 3,
    errors: [{ field: 'name', message: 'why', value: 'x' }],
  })
  t.same(ofRefusal('sender-not-verified', {}).details, undefined)
  t.same(ofRefusal('email-not-found', { id: 'x' }).details, { id: 'x' })
})

t.test('a fault of one part of a request has status 422, but a limit keeps its status', async (t) => {
  const ofPart = (kind: RefusalKind): ErrorBody['error'] =>
    toErrorBody(new UnprocessableRefusal(new Refusal(kind, 'why', { index: 1 })), () => t.fail('a refusal is no bug'))
      .error
  t.match(ofPart('invalid-address'), { code: 'invalid_email_address', status: 422, details: { index: 1 } })
  t.match(ofPart('template-not-found'), { code: 'template_not_found', status: 422 })
  t.match(ofPart('daily-limit'), { code: 'daily_limit_exceeded', status: 429, retry_after: Number })
  t.match(ofPart('forbidden'), { code: 'insufficient_permissions', status: 403 })
})
