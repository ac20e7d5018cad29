/**
 * Rows of the section "SMS verification". The gateway of the test files keeps the codes that it was sent, by the digits of the number:
 * `{code_4915123456701}`, and the one before as `{old_code_4915123456701}`.
 */
import { type Case, type Resource, sends } from '../support/row.js'
import {
  anything,
  boolean,
  equals,
  filledText,
  hasFields,
  list,
  matches,
  record,
  timestamp,
} from '../support/shapes.js'

const SEND = 'POST /v1/sms/verify/send'
const CHECK = 'POST /v1/sms/verify/check'
const template = 'Your code is {code}, for {minutes} minutes.'

const sent = record({
  id: matches(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  phone: matches(/^\+[1-9]\d+$/),
  status: equals('sent'),
  expires_at: timestamp,
})
const checked = record({
  valid: boolean,
  status: equals('verified', 'invalid', 'expired', 'max_attempts'),
  message: filledText,
})

const phoneOf = (last: number): string => `+491512345${String(last).padStart(4, '0')}`
const sendTo = (last: number, says: string): Case => ({
  ...{ says, request: SEND, body: { phone: phoneOf(last) }, shape: sent },
})

/** A code that no generated code equals: it has another length. */
const wrong = '12345'

interface Check {
  readonly status: string
  readonly message?: RegExp
}

function check(last: number, code: string, says: string, { status, message = /\S/ }: Check): Case {
  const body = { phone: phoneOf(last), code }
  const holds = { valid: status === 'verified', status, message }
  return { says, request: CHECK, body, shape: checked, holds }
}
const codeOf = (last: number): string => `{code_${phoneOf(last).slice(1)}}`

const refusedFields = (says: string, body: unknown, ...fields: readonly string[]): Case => ({
  ...{ says, body, refused: { code: 'validation_error', fields } },
})

const badPhones = [
  ['no number', 'hello', 'not_possible'],
  ['without the country calling code', '0151 23456789', 'not_possible'],
  ['too short for its country', '+49151', 'not_possible'],
  ['of a country that is not allowed', '+33612345678', 'country_not_allowed'],
  ['of a satellite service', '+870773111632', 'country_not_allowed'],
  ['in a range that is not allocated', '+4913912345678', 'unallocated'],
  ['of a premium rate service', '+19002345678', 'premium_rate'],
  ['of a service with shared cost', '+491803123456', 'shared_cost'],
  ['of a landline', '+4989123456', 'not_mobile'],
  ['free of charge', '+498001234567', 'not_mobile'],
] as const

const phoneCases: readonly Case[] = badPhones.map(([says, phone, reason]) => ({
  says: `a phone ${says}`,
  body: { phone },
  refused: {
    code: 'validation_error',
    details: hasFields({
      reason: equals(reason),
      errors: list(record({ field: equals('phone'), message: filledText, value: equals(phone) }), { exactly: 1 }),
    }),
  },
}))

const validPhone = phoneOf(1)

export const sms: Resource = {
  name: 'SMS verification',
  rows: [
    {
      row: SEND,
      who: sends,
      cases: [
        {
          says: 'a phone alone, written with spaces',
          body: { phone: '+49 151 2345-0001' },
          shape: sent,
          holds: { phone: validPhone },
        },
        {
          says: 'the shortest code for the shortest time',
          body: { phone: phoneOf(2), code_length: 4, expiry_minutes: 1 },
          shape: sent,
        },
        {
          says: 'everything, at its upper bounds',
          body: {
            ...{ phone: phoneOf(3), code_length: 8, expiry_minutes: 60 },
            template: `${template} ${'x'.repeat(480 - template.length - 1)}`,
            metadata: { order: { id: 7 }, name: null },
          },
          shape: sent,
        },
        {
          says: 'null counts as absent',
          body: { phone: phoneOf(4), template: null, code_length: null, expiry_minutes: null, metadata: null },
          shape: sent,
        },
        { says: 'a key that may only send', as: 'send', body: { phone: phoneOf(5) }, shape: sent },
        {
          says: 'without the phone',
          body: { template },
          refused: { code: 'missing_required_field', fields: ['phone'] },
        },
        ...phoneCases,
        refusedFields('a phone that is a number of JSON', { phone: 4_915_123_456_701 }, 'phone'),
        refusedFields('a phone of 41 characters', { phone: `+49${' '.repeat(38)}` }, 'phone'),
        refusedFields('a template without the code', { phone: validPhone, template: 'Hello {minutes}' }, 'template'),
        refusedFields('an empty template', { phone: validPhone, template: '' }, 'template'),
        refusedFields('a template of 481', { phone: validPhone, template: template.padEnd(481, 'x') }, 'template'),
        refusedFields('a template with NUL', { phone: validPhone, template: `${template}\0` }, 'template'),
        refusedFields('a code of 3 digits', { phone: validPhone, code_length: 3 }, 'code_length'),
        refusedFields('a code of 9 digits', { phone: validPhone, code_length: 9 }, 'code_length'),
        refusedFields('half a digit', { phone: validPhone, code_length: 6.5 }, 'code_length'),
        refusedFields('a length that is a text', { phone: validPhone, code_length: '6' }, 'code_length'),
        refusedFields('no time', { phone: validPhone, expiry_minutes: 0 }, 'expiry_minutes'),
        refusedFields('61 minutes', { phone: validPhone, expiry_minutes: 61 }, 'expiry_minutes'),
        refusedFields('metadata that is a list', { phone: validPhone, metadata: [1] }, 'metadata'),
        refusedFields('metadata too large', { phone: validPhone, metadata: { a: 'x'.repeat(16_384) } }, 'metadata'),
        refusedFields('a field that there is not', { phone: validPhone, sender: 'Me' }, 'sender'),
        refusedFields(
          'several faults',
          { phone: validPhone, code_length: 1, expiry_minutes: 'x' },
          'code_length',
          'expiry_minutes',
        ),
        {
          says: 'a provider that refuses, without its words',
          body: { phone: phoneOf(98) },
          refused: { code: 'service_unavailable' },
          holds: { 'error.message': /^(?!.*(?:21614|valid mobile))/ },
        },
        { says: 'a provider that does not answer', body: { phone: phoneOf(99) }, refused: { code: 'gateway_timeout' } },
      ],
    },
    {
      row: CHECK,
      who: sends,
      cases: [
        sendTo(11, 'a code'),
        check(11, wrong, 'a wrong code', { status: 'invalid', message: /2 attempts are left/ }),
        check(11, wrong, 'another', { status: 'invalid', message: /1 attempt is left/ }),
        check(11, codeOf(11), 'the right one', { status: 'verified' }),
        check(11, codeOf(11), 'and again: it was used', { status: 'invalid' }),
        sendTo(12, 'a code for three wrong attempts'),
        check(12, wrong, 'the first', { status: 'invalid', message: /2 attempts are left/ }),
        check(12, 'abc', 'letters', { status: 'invalid', message: /1 attempt is left/ }),
        check(12, '1'.repeat(20), 'twenty digits', { status: 'invalid', message: /no attempt is left/ }),
        check(12, wrong, 'the fourth', { status: 'max_attempts' }),
        check(12, codeOf(12), 'the right one, too late', { status: 'max_attempts' }),
        sendTo(12, 'a new code'),
        check(12, codeOf(12), 'which can be used', { status: 'verified' }),
        sendTo(13, 'a code that is replaced'),
        sendTo(13, 'by another'),
        check(13, `{old_code_${phoneOf(13).slice(1)}}`, 'the old one', { status: 'invalid' }),
        check(13, codeOf(13), 'the new one', { status: 'verified' }),
        sendTo(14, 'a code of this workspace'),
        { ...check(14, codeOf(14), 'in another workspace', { status: 'invalid' }), as: 'foreign' },
        check(14, codeOf(14), 'in this one', { status: 'verified' }),
        check(15, wrong, 'a phone without a code', { status: 'invalid' }),
        check(98, wrong, 'a phone whose code was refused', { status: 'invalid' }),
        { ...check(16, wrong, 'with a key that may only send', { status: 'invalid' }), as: 'send' },
        {
          says: 'without what is required',
          body: {},
          refused: { code: 'missing_required_field', fields: ['phone', 'code'] },
        },
        refusedFields('an empty code', { phone: validPhone, code: '' }, 'code'),
        refusedFields('21 characters', { phone: validPhone, code: '1'.repeat(21) }, 'code'),
        refusedFields('a code that is a number of JSON', { phone: validPhone, code: 123_456 }, 'code'),
        refusedFields('a phone that is none', { phone: '12', code: wrong }, 'phone'),
        refusedFields('a field that there is not', { phone: validPhone, code: wrong, id: 'x' }, 'id'),
        {
          says: 'all of it is in the list of events, without a code',
          request: 'GET /v1/events',
          query: { type: 'sms.verified' },
          shape: hasFields({ data: list(anything, { exactly: 4 }) }),
          holds: { 'data.0.data.phone': phoneOf(14) },
        },
      ],
    },
  ],
}
