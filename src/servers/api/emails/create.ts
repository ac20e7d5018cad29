/** POST /v1/emails: one email; 201 once it is on disk. */

import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { EmailCommitter } from '../../../outbound/sending/email-committer.js'
import type { EmailComposer } from '../../../outbound/sending/email-composer.js'
import { findEarlierUse } from '../../../outbound/sending/idempotency.js'
import type { Answer } from '../http/answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { createdEmail, toCreatedEmail } from './created-email.js'
import { type EmailRequest, emailRequest } from './email-request.js'
import { idempotencyHeaders, parseIdempotencyKey, repeatAnswer, withStoredAnswer } from './idempotency-key.js'
import { buildRequestedEmail } from './requested-email.js'
import { StoredParts, type StoredPartsDeps } from './stored-parts.js'

export interface CreateDeps {
  readonly read: Read
  readonly composer: Pick<EmailComposer, 'compose'>
  readonly committer: Pick<EmailCommitter, 'commit'>
  /** Where the templates and files of a request come from. */
  readonly storedParts: StoredPartsDeps
  /** False if the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
}

export function createRoute(deps: CreateDeps): Route {
  return route<undefined, EmailRequest>({
    method: 'POST',
    path: '/emails',
    area: 'send',
    tag: 'Emails',
    summary: 'Send an email, now or later',
    description: 'Recipients on the suppression list are skipped; the others are sent to.',
    headers: idempotencyHeaders,
    body: emailRequest,
    maxBody: MAX_BODY,
    answers: { 201: { description: 'It is stored, and will be delivered.', schema: createdEmail } },
    refusals: [
      'invalid_email_address',
      'invalid_from_address',
      'attachment_too_large',
      'template_not_found',
      'invalid_template_variables',
      'conflict',
      'all_recipients_suppressed',
      'insufficient_quota',
      'daily_limit_exceeded',
      'quota_exceeded',
    ],
    run: (call) => create(deps, call),
  })
}

async function create(deps: CreateDeps, call: Call<undefined, EmailRequest>): Promise<Answer> {
  const { principal, body, now } = call
  const use = parseIdempotencyKey(call)
  const before = use === null ? null : findEarlierUse(deps.read, use, now)
  if (before !== null) return repeatAnswer(before, 201)
  requireDiskSpace(deps)
  const stored = new StoredParts(deps.storedParts, principal.workspaceId, now)
  try {
    const requested = await buildRequestedEmail(body, now, stored)
    const prepared = await deps.composer.compose(principal, requested, now)
    stored.hold(prepared.copies?.bytes ?? 0)
    const answer = JSON.stringify(toCreatedEmail(prepared, requested))
    const other = await deps.committer.commit([prepared], withStoredAnswer(use, answer), now, {
      also: stored.usageWrites(),
    })
    return other === null
      ? { kind: 'text', status: 201, json: answer, emails: [prepared.enqueued.email.id] }
      : repeatAnswer(other, 201)
  } finally {
    stored.release()
  }
}

export function requireDiskSpace({ hasDiskSpace }: Pick<CreateDeps, 'hasDiskSpace'>): void {
  if (!hasDiskSpace()) throw new Refusal('storage-full', 'the service cannot store anything now, try again later')
}
