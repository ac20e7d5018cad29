/**
 * POST /v1/emails/batch: 1 to 100 emails, each checked on its own; the valid ones are accepted in one
 * commit. After each email it yields to the event loop.
 */

import { z } from 'zod'
import { formatForDisplay } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Answer } from '../http/answer.js'
import { UnprocessableRefusal } from '../http/error-answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type CreatedEmail, createdEmail, toCreatedEmail } from './created-email.js'
import type { BatchStyle, EmailAcceptance } from './email-acceptance.js'
import { type EmailRequest, emailRequest, orRefusal } from './email-request.js'
import { idempotencyHeaders } from './idempotency-key.js'

const MAX_BATCH = 100

const failedItem = z
  .object({ error: z.string(), index: z.int().meta({ description: 'Its place in the request, from 0.' }) })
  .meta({ id: 'FailedEmail' })

/** An email that is sent, and one that is refused. */
const batchExample = {
  request: [
    { from: 'app@example.com', to: 'bob@example.com', subject: 'Hello', text: 'Hello Bob' },
    { from: 'app@example.com', to: 'carol@example.com', text: 'Hello Carol' },
  ],
  answer: {
    data: [
      {
        object: 'email',
        id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
        from: 'app@example.com',
        to: ['bob@example.com'],
        created_at: '2030-01-31T09:00:00.000Z',
        recipient_counts: {
          ...{ queued: 1, sent: 0, delivered: 0, bounced: 0, failed: 0, suppressed: 0, cancelled: 0, complained: 0 },
        },
        last_event: 'queued',
        scheduled_at: null,
      },
      { error: 'subject: is required', index: 1 },
    ],
    success_count: 1,
    error_count: 1,
  },
}

const refusedItem = z
  .object({ index: z.int().meta({ description: 'Its place in the request, from 0.' }), message: z.string() })
  .meta({ id: 'RefusedEmail' })

const batchAnswer = z
  .object({
    data: z.array(z.union([createdEmail, failedItem])),
    errors: z
      .array(refusedItem)
      .optional()
      .meta({ description: 'With `x-batch-validation: permissive`: what is refused, which `data` then leaves out.' }),
    success_count: z.int(),
    error_count: z.int(),
  })
  .meta({ id: 'BatchAnswer', example: batchExample.answer })

const listOfEmails = z
  .array(orRefusal(emailRequest), {
    error: ({ code }) =>
      code === 'invalid_type' ? 'must be a list of emails; send one email to /v1/emails' : undefined,
  })
  .min(1)
  .max(MAX_BATCH)

export const batchRequest = withMaxSize(MAX_BATCH, 'emails', listOfEmails).meta({
  id: 'BatchRequest',
  example: batchExample.request,
})

export function batchRoute(acceptance: EmailAcceptance): Route {
  return route({
    method: 'POST',
    path: '/emails/batch',
    area: 'send',
    tag: 'Emails',
    summary: `Send up to ${MAX_BATCH} emails`,
    description:
      'An invalid email does not prevent the others from being sent. If a quota has no room for all, all are refused. ' +
      'With `x-batch-validation: strict` nothing is sent if one is invalid: status 422, and `details.index` is its place.',
    headers: batchHeaders,
    body: batchRequest,
    maxBody: MAX_BODY,
    answers: {
      200: { description: 'An email or an error for each, in the order of the request.', schema: batchAnswer },
    },
    refusals: ['conflict', 'insufficient_quota'],
    run: (call) => createAll(acceptance, call),
  })
}

const VALIDATION = 'x-batch-validation'
const validation = z.enum(['strict', 'permissive'])

const batchHeaders = idempotencyHeaders.extend({
  [VALIDATION]: validation
    .optional()
    .meta({ description: '`strict`: all or nothing. `permissive`: `data` and `errors`.' }),
})

async function createAll(
  acceptance: EmailAcceptance,
  call: Call<undefined, (EmailRequest | Refusal)[]>,
): Promise<Answer> {
  const style = styles[validationOf(call)]
  try {
    return { kind: 'text', status: 200, ...(await acceptance.acceptAll(call, call.body, style)) }
  } catch (error) {
    throw style.strict && error instanceof Refusal && 'index' in error.details ? new UnprocessableRefusal(error) : error
  }
}

function validationOf({ header }: Call<unknown, unknown>): keyof typeof styles {
  const given = header(VALIDATION)
  if (given === undefined) return 'none'
  const parsed = validation.safeParse(given)
  if (parsed.success) return parsed.data
  const details = { field: VALIDATION, value: formatForDisplay(given) }
  throw new Refusal('invalid-parameter', `${VALIDATION}: allowed: strict, permissive`, details)
}

type Items = readonly (CreatedEmail | Refusal)[]

const common = { tracksByDefault: true, inParts: false, toItem: toCreatedEmail } as const

function countsOf(items: Items): { readonly success_count: number; readonly error_count: number } {
  const refused = items.filter((item) => item instanceof Refusal).length
  return { success_count: items.length - refused, error_count: refused }
}

const ownStyle: BatchStyle<CreatedEmail> = {
  ...common,
  strict: false,
  toAnswer: (items) => {
    const data = items.map((item, index) => (item instanceof Refusal ? { error: item.message, index } : item))
    return { data, ...countsOf(items) }
  },
}

/** For the clients of Resend, to which a suppressed recipient is no fault of the request: the email is recorded. */
const strictStyle: BatchStyle<CreatedEmail> = {
  ...common,
  keepsSuppressed: true,
  strict: true,
  toAnswer: (items) => ({ data: items, ...countsOf(items) }),
}

const permissiveStyle: BatchStyle<CreatedEmail> = {
  ...common,
  keepsSuppressed: true,
  strict: false,
  toAnswer: (items) => ({
    data: items.filter((item) => !(item instanceof Refusal)),
    errors: items.flatMap((item, index) => (item instanceof Refusal ? [{ index, message: item.message }] : [])),
    ...countsOf(items),
  }),
}

const styles = { none: ownStyle, strict: strictStyle, permissive: permissiveStyle } as const
