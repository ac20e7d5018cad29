/** Usage, and the rules for all requests: keys, paths, methods, origins. */
import { administrates, type Resource, reads } from '../support/row.js'
import {
  cursorPage,
  filledText,
  freeObject,
  inboundBytes,
  integer,
  nullable,
  record,
  smsUsage,
  text,
  timestamp,
  uuid,
} from '../support/shapes.js'

const usage = record({
  plan: filledText,
  rate_limit: record({ requests_per_second: integer, burst_limit: integer }),
  usage: record({
    emails_sent: integer,
    emails_limit: nullable(integer),
    period_start: timestamp,
    period_end: timestamp,
  }),
  inbound: inboundBytes,
  sms: smsUsage,
})

export const general: Resource = {
  name: 'Usage and what holds everywhere',
  rows: [
    {
      row: 'GET /v1/usage',
      who: reads,
      cases: [
        { says: 'plan, pace and what was used', shape: usage },
        { says: 'without a key', as: 'none', refused: { code: 'missing_api_key' } },
        { says: 'with a key that is none', as: 'wrong', refused: { code: 'invalid_api_key' } },
        { says: 'with a revoked key', as: 'revoked', refused: { code: 'invalid_api_key' } },
        { says: 'with an expired key', as: 'expired', refused: { code: 'api_key_expired' } },
        { says: 'with a key that may not', as: 'send', refused: { code: 'insufficient_permissions' } },
        {
          says: 'from a page of elsewhere',
          headers: { origin: 'https://elsewhere.test' },
          refused: { code: 'insufficient_permissions' },
        },
        { says: 'a path that there is not', request: 'GET /v1/nothing', refused: { code: 'not_found' } },
        {
          says: 'a method that there is not',
          request: 'PATCH /v1/usage',
          refused: { code: 'method_not_allowed' },
          responseHeaders: { allow: /GET/ },
        },
        {
          says: "the caller's own id of the request",
          headers: { 'x-request-id': 'mine-1' },
          responseHeaders: { 'x-request-id': /^mine-1$/ },
        },
      ],
    },
    {
      row: 'GET /v1/audit-log',
      who: administrates,
      cases: [
        {
          says: 'what was done, newest first',
          shape: cursorPage(
            record({ id: uuid, at: timestamp, actor: text, action: filledText, target: text, details: freeObject }),
          ),
        },
        { says: 'limit 101', query: { limit: '101' }, refused: { code: 'validation_error', fields: ['limit'] } },
      ],
    },
    {
      row: 'GET /v1/openapi.json',
      who: null,
      open: true,
      cases: [{ says: 'needs no key', as: 'none', holds: { openapi: /^3\.1\./ } }],
    },
  ],
}
