/** The section "Limits", by the plan that the workspace has during the request. The plans are in the test file. */
import type { Case } from '../support/row.js'
import { equals, inboundBytes, integer, nullable, record, smsUsage, timestamp } from '../support/shapes.js'

const email = { from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't' }
const send = { request: 'POST /v1/emails', body: email }
const sendTwo = { request: 'POST /v1/emails/batch', body: [email, email] }
const over = { limit: integer, remaining: equals(0), reset_at: timestamp, retry_after: integer }

const credits = record({
  credits_remaining: integer,
  credits_used: integer,
  credits_total: integer,
  credits_expire_at: nullable(timestamp),
  inbound: inboundBytes,
  sms: smsUsage,
})
const used: Case = { says: 'the plan counts', request: 'GET /v1/usage', until: true }

export const limits: Readonly<Record<string, readonly Case[]>> = {
  monthly: [
    { ...used, holds: { plan: 'monthly', 'usage.emails_limit': 2, 'usage.emails_sent': 0 } },
    {
      says: 'a batch beyond what is left is refused whole',
      ...sendTwo,
      body: [email, email, email],
      refused: { code: 'insufficient_quota' },
    },
    { ...used, says: 'and nothing of it counts', holds: { 'usage.emails_sent': 0 } },
    { says: 'one', ...send, status: 201 },
    { says: 'two', ...send, status: 201 },
    { says: 'the month is used up', ...send, refused: { code: 'quota_exceeded' } },
    { ...used, holds: { 'usage.emails_sent': 2 } },
  ],
  daily: [
    { ...used, holds: { plan: 'daily' } },
    { says: 'one since the plan holds', ...send, status: 201 },
    { says: 'two', ...send, status: 201 },
    { says: 'the day is used up', ...send, refused: { code: 'daily_limit_exceeded' } },
    { says: 'for a batch too', ...sendTwo, refused: { code: 'insufficient_quota' } },
  ],
  prepaid: [
    { ...used, shape: credits, holds: { credits_total: 1, credits_expire_at: null } },
    { says: 'the credit', ...send, status: 201 },
    { says: 'none is left', ...send, refused: { code: 'insufficient_quota' } },
    { ...used, shape: credits, holds: { credits_remaining: 0, credits_used: 1 } },
  ],
  unlimited: [
    { ...used, holds: { plan: 'unlimited', 'usage.emails_limit': null } },
    ...Array.from({ length: 10 }, (_, at) => ({
      says: `domain ${at + 1} of an hour`,
      request: 'POST /v1/domains',
      body: { domain: `d${at}.test` },
      status: 201,
    })),
    {
      says: 'the eleventh',
      request: 'POST /v1/domains',
      body: { domain: 'd11.test' },
      refused: { code: 'rate_limit_exceeded', details: record(over, {}) },
      responseHeaders: { 'retry-after': /^\d+$/ },
    },
  ],
  slow: [
    {
      says: 'too many in a minute',
      request: 'GET /v1/usage',
      refused: { code: 'rate_limit_exceeded', details: record(over, {}) },
      holds: { 'error.details.limit': 2 },
      responseHeaders: { 'retry-after': /^\d+$/, 'x-ratelimit-limit': /^2$/, 'x-ratelimit-remaining': /^0$/ },
      until: true,
    },
    { says: 'others are not held up', as: 'foreign', request: 'GET /v1/usage', holds: { plan: 'unlimited' } },
    {
      says: 'nor do they see any rate but their own',
      as: 'foreign',
      request: 'GET /v1/usage',
      responseHeaders: { 'x-ratelimit-limit': /^1000$/ },
    },
  ],
}
