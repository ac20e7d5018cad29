/**
 * POST /v1/sms/verify/send and /check: sends a verification code to a phone, and checks the code that its user entered.
 *
 * Both answer 200. A wrong code is an answer, no error. While no provider is configured both answer 503, after the body
 * has been validated.
 */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { MAX_CODE_LENGTH } from '../../../workspaces/sms/check-code.js'
import { MAX_TEMPLATE_LENGTH } from '../../../workspaces/sms/message-text.js'
import type { SmsService } from '../../../workspaces/sms/service/sms-service.js'
import { json } from '../http/answer.js'
import { metadataObject } from '../http/input/metadata.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

/** Characters. Judging the number allows fewer. */
const MAX_PHONE = 40
const ID = '01a1ff35-3880-7ef5-bbba-0d7e1de2529c'
const PHONE = '+4915123456789'

const phone = z
  .string('allowed: a phone number with a plus sign and its country calling code')
  .min(1, 'allowed: a phone number with a plus sign and its country calling code')
  .max(MAX_PHONE, `allowed: up to ${MAX_PHONE} characters`)
  .meta({
    description:
      'A plus sign, the country calling code and the number; spaces, dots, hyphens and parentheses may be in it.',
    example: PHONE,
  })

function wholeNumber(min: number, max: number): z.ZodInt {
  const rule = `allowed: a whole number from ${min} to ${max}`
  return z.int(rule).min(min, rule).max(max, rule)
}

const sendRequest = z
  .strictObject({
    phone,
    template: z
      .string(`allowed: a text of up to ${MAX_TEMPLATE_LENGTH} characters with {code}`)
      .max(MAX_TEMPLATE_LENGTH, `allowed: up to ${MAX_TEMPLATE_LENGTH} characters`)
      .optional()
      .meta({ description: 'The text. It has `{code}` in it, and may have `{minutes}`.' }),
    code_length: wholeNumber(4, 8).default(6).meta({ description: 'Digits of the code.' }),
    expiry_minutes: wholeNumber(1, 60).default(10).meta({ description: 'How long the code is valid.' }),
    metadata: metadataObject('It is part of the events about this code.').optional(),
  })
  .meta({
    id: 'SmsSendRequest',
    example: { phone: PHONE, template: 'Your code for the shop: {code}. It is valid for {minutes} minutes.' },
  })

const sentCode = z
  .strictObject({
    id: z.string().meta({ example: ID }),
    phone: z.string().meta({ description: 'In E.164 form.', example: PHONE }),
    status: z.literal('sent'),
    expires_at: timestamp,
  })
  .meta({ id: 'SmsSent' })

const checkRequest = z
  .strictObject({
    phone,
    code: z
      .string(`allowed: the code as text, up to ${MAX_CODE_LENGTH} characters`)
      .min(1, 'must not be empty')
      .max(MAX_CODE_LENGTH, `allowed: up to ${MAX_CODE_LENGTH} characters`)
      .meta({ description: 'As text: a code may begin with zeros.', example: '042137' }),
  })
  .meta({ id: 'SmsCheckRequest', example: { phone: PHONE, code: '042137' } })

const checkedCode = z
  .strictObject({
    valid: z.boolean().meta({ example: false }),
    status: z.enum(['verified', 'invalid', 'expired', 'max_attempts']).meta({ example: 'invalid' }),
    message: z.string().meta({ example: 'the code is wrong: 2 attempts are left' }),
  })
  .meta({ id: 'SmsChecked' })

interface VerifyDeps {
  readonly sms: SmsService
}

export function verifyRoutes(deps: VerifyDeps): readonly Route[] {
  return [sendRoute(deps), checkRoute(deps)]
}

function sendRoute({ sms }: VerifyDeps): Route {
  return route<undefined, z.output<typeof sendRequest>>({
    method: 'POST',
    path: '/sms/verify/send',
    area: 'send',
    tag: 'SMS verification',
    summary: 'Send a verification code to a phone',
    description:
      'The answer comes when the provider has taken over the message, after 15 seconds at most. Until then an earlier ' +
      'code of this phone stays valid; from then on only the new one is. With 503 and 504 no new code is valid.',
    body: sendRequest,
    answers: { 200: { description: 'The provider took over the message.', schema: sentCode } },
    refusals: ['gateway_timeout'],
    run: async ({ principal: { workspaceId }, body }) => {
      const { id, phone, expiresAt } = await sms.sender.send({
        workspaceId,
        phone: body.phone,
        template: body.template,
        codeLength: body.code_length,
        expiryMinutes: body.expiry_minutes,
        metadata: body.metadata ?? null,
      })
      return json(200, { id, phone, status: 'sent', expires_at: formatTimestamp(expiresAt) })
    },
  })
}

function checkRoute({ sms }: VerifyDeps): Route {
  return route<undefined, z.output<typeof checkRequest>>({
    method: 'POST',
    path: '/sms/verify/check',
    area: 'send',
    tag: 'SMS verification',
    summary: 'Check the code that the user of a phone has entered',
    description:
      'A code can be used once, and has three attempts. `max_attempts` is the answer to the fourth attempt, and to all ' +
      'later ones until a new code is sent.',
    body: checkRequest,
    answers: { 200: { description: 'Whether the code is right.', schema: checkedCode } },
    refusals: [],
    run: async ({ principal: { workspaceId }, body: { phone, code } }) =>
      json(200, await sms.checker.check({ workspaceId, phone, code })),
  })
}
