/** POST /v1/inbound/:id/reply: answers an inbound email in its thread. */

import { z } from 'zod'
import type { RequestedEmail } from '../../../outbound/sending/email-composer.js'
import type { RequestedContent } from '../../../outbound/sending/message-content.js'
import { buildReplyContent } from '../../../outbound/sending/reply-content.js'
import { inboundById, readInboundRaw } from '../../../records/messages/inbound/inbound-email.js'
import { createRecipientIds } from '../../../records/messages/queue/enqueue.js'
import { attachments } from '../emails/attachment-fields.js'
import { type AcceptanceDeps, requireDiskSpace } from '../emails/email-acceptance.js'
import { bodyText } from '../emails/email-fields.js'
import { resolveAttachments } from '../emails/requested-email.js'
import { StoredParts } from '../emails/stored-parts.js'
import type { Answer } from '../http/answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import { missingIssue } from '../http/input/parse-input.js'
import { notFound } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'

export const replyRequest = z
  .strictObject({ html: bodyText.optional(), text: bodyText.optional(), attachments })
  .superRefine(({ html, text }, context) => {
    if (html !== undefined || text !== undefined) return
    context.addIssue({
      code: 'custom',
      path: ['html'],
      params: missingIssue,
      message: 'is required, unless there is text',
    })
  })
  .meta({ id: 'ReplyRequest', example: { text: 'Thank you, we look into it.' } })

const sentReply = z
  .object({ success: z.literal(true), messageId: z.string(), emailId: z.uuid() })
  .meta({ id: 'SentReply' })

type ReplyRequest = z.output<typeof replyRequest>

export function replyRoute(deps: AcceptanceDeps): Route {
  return route<undefined, ReplyRequest>({
    method: 'POST',
    path: '/inbound/:id/reply',
    area: 'send',
    tag: 'Inbound email',
    summary: 'Answer an inbound email',
    description:
      'Sent from the address that it was sent to, to its Reply-To or From, with In-Reply-To and References. Opens and clicks are tracked.',
    body: replyRequest,
    maxBody: MAX_BODY,
    answers: { 200: { description: 'It is stored, and will be delivered.', schema: sentReply } },
    refusals: [
      'not_found',
      'invalid_from_address',
      'attachment_too_large',
      'all_recipients_suppressed',
      'insufficient_quota',
      'daily_limit_exceeded',
      'quota_exceeded',
    ],
    run: (call) => createReply(deps, call),
  })
}

async function createReply(
  deps: AcceptanceDeps,
  { principal, params, body, now }: Call<undefined, ReplyRequest>,
): Promise<Answer> {
  const { read, composer, committer } = deps
  const inboundRef = { workspaceId: principal.workspaceId, id: params['id'] ?? '' }
  const [email] = await inboundById(read, inboundRef)
  if (email === undefined) throw notFound('not-found', 'inbound email', inboundRef.id)
  requireDiskSpace(deps)
  const stored = new StoredParts(deps.storedParts, principal.workspaceId, now)
  try {
    const files = await resolveAttachments(body.attachments, stored)
    const { html = null, text = null } = body
    const reply = buildReplyContent(email, await readInboundRaw(read, inboundRef), { html, text, attachments: files })
    const requested = toRequestedReply(reply, now)
    const prepared = await composer.compose(principal, requested, now)
    stored.hold(prepared.copies?.bytes ?? 0)
    await committer.commit([prepared], null, now, { also: stored.usageWrites() })
    const { id: emailId, message_id: messageId } = prepared.enqueued.email
    return { kind: 'json', status: 200, body: { success: true, messageId, emailId }, emails: [emailId] }
  } finally {
    stored.release()
  }
}

function toRequestedReply(content: RequestedContent, now: number): RequestedEmail {
  const recipientIds = createRecipientIds(content.to.length, now)
  return {
    ...{ content, recipientIds, options: defaultOptions, tracksByDefault: true },
    ...{ templateId: null, hasUnsubscribeLink: false },
  }
}

const defaultOptions = {
  trackOpens: null,
  trackClicks: null,
  tags: [],
  priority: 'normal',
  scheduledFor: null,
} as const
