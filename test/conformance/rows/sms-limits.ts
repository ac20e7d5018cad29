/** Limits of codes, as `[sms.limits]` of the test file has them, and a service without a provider. */
import type { Case } from '../support/row.js'
import { equals, integer, record, timestamp } from '../support/shapes.js'

const SEND = 'POST /v1/sms/verify/send'
const CHECK = 'POST /v1/sms/verify/check'

const send = (phone: string, says: string): Case => ({ says, request: SEND, body: { phone } })

function refused(phone: string, says: string, reason: string, limit: number): Case {
  const details = record({
    ...{ reason: equals(reason), limit: equals(limit), remaining: equals(0) },
    ...{ retry_after: integer, reset_at: timestamp },
  })
  const responseHeaders = { 'retry-after': /^[1-9]\d*$/ }
  return { ...send(phone, says), refused: { code: 'rate_limit_exceeded', details }, responseHeaders }
}

/** Settings, and what they lead to. */
export const smsLimits: readonly {
  readonly says: string
  readonly limits: Readonly<Record<string, number>>
  readonly cases: readonly Case[]
}[] = [
  {
    says: 'one phone in an hour, and in all workspaces together',
    limits: { per_phone_per_hour: 1 },
    cases: [
      send('+4915123456701', 'the first'),
      refused('+49 151 234567 01', 'the second, written in another way', 'phone_limit', 1),
      send('+4915123456702', 'another phone'),
      { ...send('+4915123456701', 'another workspace has a limit of its own'), as: 'foreign' },
      { ...refused('+4915123456701', 'once', 'phone_limit', 1), as: 'foreign' },
    ],
  },
  {
    says: 'one phone in a day',
    limits: { per_phone_per_day: 2 },
    cases: [
      send('+4915123456701', 'the first'),
      send('+4915123456701', 'the second'),
      refused('+4915123456701', 'the third', 'phone_limit', 2),
    ],
  },
  {
    says: 'numbers that are alike but for four digits',
    limits: { per_range_per_hour: 2 },
    cases: [
      send('+4915123456701', 'the first'),
      send('+4915123450002', 'the second'),
      refused('+4915123459903', 'the third', 'range_limit', 2),
      send('+4915123466701', 'of another range'),
      refused('+4915123456701', 'the first again', 'range_limit', 2),
    ],
  },
  ...(['minute', 'hour', 'day'] as const).map((window) => ({
    says: `one workspace in a ${window}`,
    limits: { [`per_workspace_per_${window}`]: 1 },
    cases: [
      send('+4915123456701', 'the first'),
      refused('+12125550123', 'the second, anywhere', 'workspace_limit', 1),
      { ...send('+12125550123', 'another workspace'), as: 'foreign' as const },
    ],
  })),
]

export const withoutProvider: readonly Case[] = [
  { ...send('+4915123456701', 'nothing can be sent'), refused: { code: 'service_unavailable' } },
  {
    says: 'nor checked',
    request: CHECK,
    body: { phone: '+4915123456701', code: '123456' },
    refused: { code: 'service_unavailable' },
  },
  {
    says: 'faults of the request come first',
    request: SEND,
    body: { phone: '+4915123456701', code_length: 3 },
    refused: { code: 'validation_error', fields: ['code_length'] },
  },
  {
    says: 'those of a check too',
    request: CHECK,
    body: { phone: '+4915123456701' },
    refused: { code: 'missing_required_field', fields: ['code'] },
  },
]
