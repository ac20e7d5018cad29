/**
 * POST /v1/emails/batch: 1 to 100 emails, each checked on its own; the valid ones are accepted in one
 * commit. After each email it yields to the event loop.
 */

import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Answer } from '../http/answer.js'
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
        id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c',
        from: 'app@example.com',
        to: ['bob@example.com'],
        created_at: '2030-01-31T09:00:00.000Z',
        recipient_counts: {
          ...{ queued: 1, sent: 0, delivered: 0, bounced: 0, failed: 0, suppressed: 0, cancelled: 0, complained: 0 },
        },
      },
      { error: 'subject: is required', index: 1 },
    ],
    success_count: 1,
    error_count: 1,
  },
}

const batchAnswer = z
  .object({
    data: z.array(z.union([createdEmail, failedItem])),
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
      'An invalid email does not prevent the others from being sent. If a quota has no room for all, all are refused.',
    headers: idempotencyHeaders,
    body: batchRequest,
    maxBody: MAX_BODY,
    answers: {
      200: { description: 'An email or an error for each, in the order of the request.', schema: batchAnswer },
    },
    refusals: ['conflict', 'insufficient_quota'],
    run: (call) => createAll(acceptance, call),
  })
}

async function createAll(
  acceptance: EmailAcceptance,
  call: Call<undefined, (EmailRequest | Refusal)[]>,
): Promise<Answer> {
  return { kind: 'text', status: 200, ...(await acceptance.acceptAll(call, call.body, style)) }
}

const style: BatchStyle<CreatedEmail> = {
  tracksByDefault: true,
  strict: false,
  inParts: false,
  toItem: toCreatedEmail,
  toAnswer: (items) => {
    const data = items.map((item, index) => (item instanceof Refusal ? { error: item.message, index } : item))
    const refused = items.filter((item) => item instanceof Refusal).length
    return { data, success_count: items.length - refused, error_count: refused }
  },
}
