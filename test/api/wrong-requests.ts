/**
 * Requests that a client gets wrong, each with the answer that the interface documents.
 *
 * Written from the interface, not from the code: a row says what is sent and what comes.
 */
import type { RestRequest } from '../helpers/rest-client.js'
import { wrongEmails } from './wrong-emails.js'
import { ADDRESS, email, MISSING, WRONG, type Wrong, wrongPosts } from './wrong-request.js'

const batches: readonly Wrong[] = wrongPosts('/v1/emails/batch', [
  ['a batch that is an object', email, WRONG],
  ['an empty batch', [], WRONG],
  ['a batch of 101', Array.from({ length: 101 }, () => email), WRONG],
])

const json = { 'content-type': 'application/json' }
const post = (what: string, request: RestRequest, status: number, code: string): Wrong => ({
  what,
  line: 'POST /v1/emails',
  request,
  status,
  code,
})

const transport: readonly Wrong[] = [
  post('no key', { key: null, body: email }, 401, 'missing_api_key'),
  post('a wrong key', { key: 'ph_wrong', body: email }, 401, 'invalid_api_key'),
  post(
    'another kind of authorization',
    { key: null, body: email, headers: { authorization: 'Basic YTpi' } },
    401,
    'invalid_api_key',
  ),
  post('a foreign origin', { body: email, headers: { origin: 'https://evil.test' } }, 403, 'insufficient_permissions'),
  post('plain text', { body: 'hello', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'),
  post(
    'a form',
    { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'unsupported_media_type',
  ),
  post(
    'another charset',
    { body: email, headers: { 'content-type': 'application/json; charset=latin1' } },
    415,
    'unsupported_media_type',
  ),
  post('a compressed body', { body: email, headers: { 'content-encoding': 'gzip' } }, 415, 'unsupported_media_type'),
  post('an empty body', { body: '', headers: json }, 400, 'invalid_json'),
  post('half a body', { body: '{"from":', headers: json }, 400, 'invalid_json'),
  post('a comma too many', { body: '{"from":"a@a.test",}', headers: json }, 400, 'invalid_json'),
  post(
    'bytes that are not UTF-8',
    { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
    400,
    'invalid_json',
  ),
  post('a body that nests too deep', { body: `${'['.repeat(40)}${']'.repeat(40)}` }, 400, 'invalid_json'),
  post('a body over 22 MB', { body: Buffer.alloc(22 * 1_048_576 + 1, 0x20) }, 413, 'payload_too_large'),
  post('an empty Idempotency-Key', { body: email, headers: { 'idempotency-key': ' ' } }, 400, WRONG),
  post('an Idempotency-Key without end', { body: email, headers: { 'idempotency-key': 'x'.repeat(257) } }, 400, WRONG),
  { what: 'an unknown path', line: 'GET /v1/nothing', status: 404, code: 'not_found' },
  { what: 'a version twice', line: 'GET /v1/v1/emails', status: 404, code: 'not_found' },
  { what: 'a path that cannot be decoded', line: 'GET /v1/emails/%E0%A4%A', status: 404, code: 'email_not_found' },
  { what: 'PUT of emails', line: 'PUT /v1/emails', status: 405, code: 'method_not_allowed' },
  { what: 'DELETE of emails', line: 'DELETE /v1/emails', status: 405, code: 'method_not_allowed' },
  { what: 'GET of a batch', line: 'GET /v1/emails/batch', status: 405, code: 'method_not_allowed' },
  { what: 'PATCH of a batch', line: 'PATCH /v1/emails/batch', status: 405, code: 'method_not_allowed' },
  { what: 'PUT of a batch', line: 'PUT /v1/emails/batch', status: 405, code: 'method_not_allowed' },
  { what: 'OPTIONS of emails', line: 'OPTIONS /v1/emails', status: 405, code: 'method_not_allowed' },
]

const unknownId = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
/** To an attachment, signed by nobody. */
const link = (expires: string): string =>
  `/v1/inbound/${unknownId}/attachments/0?workspace=ws_1&expires=${expires}&signature=x`

function wrongGets(
  rows: readonly (readonly [line: string, status: number, code: string, field?: string])[],
): readonly Wrong[] {
  return rows.map(([line, status, code, field]) => ({
    what: line,
    line,
    status,
    code,
    ...(field === undefined ? {} : { field }),
  }))
}

const queries: readonly Wrong[] = wrongGets([
  ['GET /v1/emails?limit=0', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=101', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=-1', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=ten', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=1.5', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=', 400, WRONG, 'limit'],
  ['GET /v1/emails?limit=1&limit=2', 400, WRONG, 'limit'],
  ['GET /v1/emails?offset=-1', 400, WRONG, 'offset'],
  ['GET /v1/emails?page=0', 400, WRONG, 'page'],
  ['GET /v1/emails?per_page=101', 400, WRONG, 'per_page'],
  ['GET /v1/emails?page=1&limit=1', 400, WRONG],
  ['GET /v1/emails?status=lost', 400, WRONG, 'status'],
  ['GET /v1/emails?colour=red', 400, WRONG, 'colour'],
  [`GET /v1/emails/${unknownId}`, 404, 'email_not_found'],
  ['GET /v1/emails/nonsense', 404, 'email_not_found'],
  [`GET /v1/emails/${unknownId}/raw`, 404, 'email_not_found'],
  [`POST /v1/emails/${unknownId}/cancel`, 404, 'email_not_found'],
  ['GET /v1/suppressions?limit=101', 400, WRONG, 'limit'],
  ['GET /v1/suppressions?reason=none', 400, WRONG, 'reason'],
  ['GET /v1/suppressions?cursor=%21%21', 400, WRONG, 'cursor'],
  [`GET /v1/suppressions/${unknownId}`, 404, 'not_found'],
  [`DELETE /v1/suppressions/${unknownId}`, 404, 'not_found'],
  ['GET /v1/inbound?limit=0', 400, WRONG, 'limit'],
  ['GET /v1/inbound?status=new', 400, WRONG, 'status'],
  ['GET /v1/inbound?spam_status=ham', 400, WRONG, 'spam_status'],
  ['GET /v1/inbound?domain=-', 400, WRONG, 'domain'],
  ['GET /v1/inbound?from=nobody', 400, ADDRESS, 'from'],
  ['GET /v1/inbound?since=yesterday', 400, WRONG, 'since'],
  ['GET /v1/inbound?cursor=x', 400, WRONG, 'cursor'],
  [`GET /v1/inbound/${unknownId}`, 404, 'not_found'],
  [`GET /v1/inbound/${unknownId}/raw`, 404, 'not_found'],
  [`GET /v1/inbound/${unknownId}/attachments`, 404, 'not_found'],
  [`GET /v1/inbound/${unknownId}/attachments?limit=1`, 400, WRONG, 'limit'],
  [`GET /v1/inbound/${unknownId}/attachments/0`, 400, MISSING, 'signature'],
  [`GET ${link('1')}`, 403, 'insufficient_permissions'],
  [`GET ${link('never')}`, 400, WRONG, 'expires'],
  [`GET ${link('1')}&more=x`, 400, WRONG, 'more'],
  [`DELETE /v1/inbound/${unknownId}`, 404, 'not_found'],
  ['DELETE /v1/suppressions', 400, MISSING, 'email'],
  ['DELETE /v1/suppressions?email=nobody', 400, ADDRESS, 'email'],
  ['DELETE /v1/suppressions?email=never%40b.test', 404, 'not_found'],
  [`DELETE /v1/api-keys/${unknownId}`, 404, 'not_found'],
  [`GET /v1/domains/${unknownId}`, 404, 'domain_not_found'],
  [`DELETE /v1/domains/${unknownId}`, 404, 'domain_not_found'],
])

const others: readonly Wrong[] = [
  {
    what: 'PATCH of no domain',
    line: `PATCH /v1/domains/${unknownId}`,
    request: { body: { inbound: true } },
    status: 404,
    code: 'domain_not_found',
  },
  {
    what: 'PATCH of nothing',
    line: `PATCH /v1/emails/${unknownId}`,
    request: { body: {} },
    status: 400,
    code: MISSING,
    field: 'scheduled_for',
  },
  {
    what: 'PATCH of something else',
    line: `PATCH /v1/emails/${unknownId}`,
    request: { body: { scheduled_for: '2030-01-01T00:00:00Z', subject: 'a' } },
    status: 400,
    code: WRONG,
    field: 'subject',
  },
  ...wrongPosts(`/v1/inbound/${unknownId}/reply`, [
    ['neither html nor text', {}, MISSING, 'html'],
    ['a text that is none', { text: 1 }, WRONG, 'text'],
    ['an unknown field', { text: 'x', to: 'bob@b.test' }, WRONG, 'to'],
    ['an attachment that is none', { text: 'x', attachments: [1] }, WRONG, 'attachments[0]'],
  ]),
  ...wrongPosts(`/v1/inbound/${unknownId}/feedback`, [
    ['no verdict', {}, MISSING, 'verdict'],
    ['a verdict that is none', { verdict: 'clean' }, WRONG, 'verdict'],
    ['an unknown field', { verdict: 'spam', learn: true }, WRONG, 'learn'],
    ['feedback on nothing', { verdict: 'spam' }, 'not_found', undefined, 404],
  ]),
  ...wrongPosts('/v1/suppressions', [
    ['no email', {}, MISSING, 'email'],
    ['no address', { email: 'nobody' }, ADDRESS, 'email'],
    ['a reason that is none', { email: 'x@b.test', reason: 'bored' }, WRONG, 'reason'],
    ['an unknown field', { email: 'x@b.test', why: 'bored' }, WRONG, 'why'],
  ]),
  ...wrongPosts('/v1/api-keys', [
    ['no name', {}, MISSING, 'name'],
    ['an empty name', { name: '' }, WRONG, 'name'],
    ['a name too long', { name: 'x'.repeat(101) }, WRONG, 'name'],
    ['a scope that is none', { name: 'k', scopes: ['all'] }, WRONG, 'scopes[0]'],
    ['no scope', { name: 'k', scopes: [] }, WRONG, 'scopes'],
    ['an end in the past', { name: 'k', expires_at: '2020-01-01T00:00:00Z' }, WRONG, 'expires_at'],
    ['an end without offset', { name: 'k', expires_at: '2030-01-01T00:00:00' }, WRONG, 'expires_at'],
    ['a network that is none', { name: 'k', allowed_networks: ['10.0.0.0/33'] }, WRONG, 'allowed_networks[0]'],
    ['a domain that is none', { name: 'k', allowed_domains: ['-a-'] }, WRONG, 'allowed_domains[0]'],
  ]),
  ...wrongPosts('/v1/domains', [
    ['no domain', {}, MISSING, 'domain'],
    ['no domain name', { domain: 'not a name' }, WRONG, 'domain'],
    ['an address', { domain: '192.0.2.1' }, WRONG, 'domain'],
    ['one label', { domain: 'localhost' }, WRONG, 'domain'],
    ['inbound by a word', { domain: 'new.test', inbound: 'yes' }, WRONG, 'inbound'],
    ['a domain that another workspace has verified', { domain: 'other.test' }, 'domain_already_exists', undefined, 409],
    ['a domain that is there already', { domain: 'a.test' }, 'conflict', undefined, 409],
  ]),
]

export const wrongRequests: readonly Wrong[] = [...transport, ...wrongEmails, ...batches, ...queries, ...others]
