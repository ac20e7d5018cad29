/** POST /v1/emails: one email; 201 once it is on disk. */
import type { Answer } from '../http/answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { createdEmail, toCreatedEmail } from './created-email.js'
import type { EmailAcceptance } from './email-acceptance.js'
import { type EmailRequest, emailRequest } from './email-request.js'
import { idempotencyHeaders } from './idempotency-key.js'

/** Opens and clicks are tracked if neither the request nor the domain says otherwise. */
const style = { tracksByDefault: true, toItem: toCreatedEmail }

/** `message` takes a body that is a composed message. */
export function createRoute(acceptance: EmailAcceptance, message: Route): Route {
  return route<undefined, EmailRequest>({
    method: 'POST',
    path: '/emails',
    area: 'send',
    tag: 'Emails',
    summary: 'Send an email, now or later',
    description:
      'Recipients on the suppression list are skipped; the others are sent to. A body of type `message/rfc822` is a ' +
      'composed message; `?from=` and `?to=` (repeatable) are its envelope, else its header names them.',
    otherwise: message,
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
    run: (call) => create(acceptance, call),
  })
}

async function create(acceptance: EmailAcceptance, call: Call<undefined, EmailRequest>): Promise<Answer> {
  return { kind: 'text', status: 201, ...(await acceptance.accept(call, call.body, style)) }
}
