/**
 * POST /v1/emails/batch: 1 to 100 emails, each checked on its own; the valid ones are accepted in one
 * commit. After each email it yields to the event loop.
 */

import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { minSizeOf } from '../../../outbound/sending/composed-size.js'
import type { PreparedEmail } from '../../../outbound/sending/email-preparer.js'
import { findEarlierUse } from '../../../outbound/sending/idempotency.js'
import type { BatchQuotaCheck } from '../../../workspaces/accounts/limits/quota.js'
import type { Answer } from '../http/answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { toInputRefusal } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { type CreateDeps, requireDiskSpace } from './create.js'
import { type CreatedEmail, createdEmail, toCreatedEmail } from './created-email.js'
import { type EmailRequest, emailRequest } from './email-request.js'
import { idempotencyHeaders, parseIdempotencyKey, repeatAnswer, withStoredAnswer } from './idempotency-key.js'
import { buildRequestedEmail } from './requested-email.js'
import { StoredParts } from './stored-parts.js'

const MAX_BATCH = 100
/** 32 MB. All composed messages of a batch are in memory until the commit. */
export const MAX_BATCH_BYTES = 32 * 1_048_576

const failedItem = z
  .object({ error: z.string(), index: z.int().meta({ description: 'Its place in the request, from 0.' }) })
  .meta({ id: 'FailedEmail' })

type FailedItem = z.output<typeof failedItem>

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

/** An invalid item becomes its Refusal, so that the others can be sent. */
const batchItem: z.ZodType<EmailRequest | Refusal> = emailRequest.catch(toItemRefusal as never)

/** Called without a context when a JSON schema is made, which asks for a default. There is none. */
function toItemRefusal(context?: z.core.$ZodCatchCtx): Refusal | undefined {
  return context === undefined ? undefined : toInputRefusal(context.error.issues, context.value)
}

const listOfEmails = z
  .array(batchItem, {
    error: ({ code }) =>
      code === 'invalid_type' ? 'must be a list of emails; send one email to /v1/emails' : undefined,
  })
  .min(1)
  .max(MAX_BATCH)

export const batchRequest = withMaxSize(MAX_BATCH, 'emails', listOfEmails).meta({
  id: 'BatchRequest',
  example: batchExample.request,
})

export interface BatchDeps extends CreateDeps {
  /** Refuses the batch before any email is composed if a quota has no room for all. */
  readonly refusalOf: BatchQuotaCheck
}

export function batchRoute(deps: BatchDeps): Route {
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
    run: (call) => createAll(deps, call),
  })
}

async function createAll(deps: BatchDeps, call: Call<undefined, (EmailRequest | Refusal)[]>): Promise<Answer> {
  const use = parseIdempotencyKey(call)
  const before = use === null ? null : findEarlierUse(deps.read, use, call.now)
  if (before !== null) return repeatAnswer(before, 200)
  requireDiskSpace(deps)
  const refusal = deps.refusalOf(call.principal.workspaceId, call.body.length, call.now)
  if (refusal !== null) throw refusal
  const stored = new StoredParts(deps.storedParts, call.principal.workspaceId, call.now)
  try {
    const { data, prepared } = await composeBatch(deps, call, stored)
    const answer = JSON.stringify({ data, success_count: prepared.length, error_count: data.length - prepared.length })
    const options = { batch: true, also: stored.usageWrites() }
    // If nothing was sent, the same key may be used again.
    const other =
      prepared.length === 0
        ? null
        : await deps.committer.commit(prepared, withStoredAnswer(use, answer), call.now, options)
    if (other !== null) return repeatAnswer(other, 200)
    return { kind: 'text', status: 200, json: answer, emails: prepared.map(({ enqueued }) => enqueued.email.id) }
  } finally {
    stored.release()
  }
}

interface ComposedBatch {
  readonly data: readonly (CreatedEmail | FailedItem)[]
  readonly prepared: readonly PreparedEmail[]
}

/** Emails that were composed and refused count too: a few bytes can request stored files of megabytes. */
async function composeBatch(
  deps: BatchDeps,
  call: Call<undefined, (EmailRequest | Refusal)[]>,
  stored: StoredParts,
): Promise<ComposedBatch> {
  const data: (CreatedEmail | FailedItem)[] = []
  const prepared: PreparedEmail[] = []
  let bytes = 0
  for (const [index, request] of call.body.entries()) {
    const one = await composeItem(deps, call, stored, request, index)
    data.push(one.answer)
    if (one.prepared !== null) prepared.push(one.prepared)
    bytes += one.bytes
    if (bytes > MAX_BATCH_BYTES) throw tooLargeRefusal(bytes)
    await setImmediate()
  }
  return { data, prepared }
}

function tooLargeRefusal(size: number): Refusal {
  const message = `the composed messages of the batch have ${size} bytes or more, allowed: ${MAX_BATCH_BYTES}`
  return new Refusal('too-large', message, { size, limit: MAX_BATCH_BYTES })
}

interface ComposedItem {
  readonly answer: CreatedEmail | FailedItem
  readonly prepared: PreparedEmail | null
  readonly bytes: number
}

async function composeItem(
  { composer }: CreateDeps,
  { principal, now }: Pick<Call, 'principal' | 'now'>,
  stored: StoredParts,
  request: EmailRequest | Refusal,
  index: number,
): Promise<ComposedItem> {
  let bytes = 0
  try {
    if (request instanceof Refusal) throw request
    const requested = await buildRequestedEmail(request, now, stored)
    bytes = minSizeOf(requested.content)
    const prepared = await composer.compose(principal, requested, now)
    const copied = prepared.copies?.bytes ?? 0
    stored.hold(copied)
    return { answer: toCreatedEmail(prepared, requested), prepared, bytes: prepared.enqueued.email.size + copied }
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error
    return { answer: { error: error.message, index }, prepared: null, bytes }
  }
}
