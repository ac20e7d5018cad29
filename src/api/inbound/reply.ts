/** POST /v1/inbound/:id/reply: answers mail that came in, in its thread. */
import { z } from 'zod'
import { inboundById, rawOfInbound } from '../../messages/inbound/inbound-email.js'
import { replyContent } from '../../sending/reply-content.js'
import { type CreateDeps, requireRoom } from '../emails/create.js'
import { attachments } from '../emails/email-request.js'
import { sentAttachments } from '../emails/wanted-email.js'
import { ofMissing } from '../http/input/input.js'
import { notFound } from '../http/input/values.js'
import { type Answer, type Call, json, type Route, route } from '../http/route.js'

const reply = z
  .strictObject({ html: z.string().optional(), text: z.string().optional(), attachments })
  .superRefine(({ html, text }, context) => {
    if (html !== undefined || text !== undefined) return
    context.addIssue({ code: 'custom', path: ['html'], params: ofMissing, message: 'is required, or text' })
  })
  .meta({ id: 'ReplyRequest', example: { text: 'Thank you, we look into it.' } })

const sent = z.object({ success: z.literal(true), messageId: z.string(), emailId: z.uuid() }).meta({ id: 'SentReply' })

type ReplyRequest = z.output<typeof reply>

export function replyRoute(deps: CreateDeps): Route {
  return route<undefined, ReplyRequest>({
    method: 'POST',
    path: '/inbound/:id/reply',
    area: 'send',
    tag: 'Inbound email',
    summary: 'Answer an email that came in',
    description:
      'From the address that it was written to, to its Reply-To or its From, with In-Reply-To and References.',
    body: reply,
    answers: { 200: { description: 'It is stored, and will be delivered.', schema: sent } },
    refusals: [
      'not_found',
      'invalid_from_address',
      'attachment_too_large',
      'all_recipients_suppressed',
      'insufficient_quota',
      'daily_limit_exceeded',
      'quota_exceeded',
    ],
    run: (call) => answer(deps, call),
  })
}

async function answer(
  deps: CreateDeps,
  { principal, params, body, now }: Call<undefined, ReplyRequest>,
): Promise<Answer> {
  const { read, compose, take } = deps
  const place = { workspaceId: principal.workspaceId, id: params['id'] ?? '' }
  const [email] = inboundById(read, place)
  if (email === undefined) throw notFound('not-found', 'inbound email', place.id)
  requireRoom(deps)
  const stored = deps.stored(principal.workspaceId, now)
  try {
    const files = sentAttachments(body.attachments, stored)
    const { html = null, text = null } = body
    const content = replyContent(email, rawOfInbound(read, place)[0]?.raw, { html, text, attachments: files })
    const prepared = compose(principal, { content, options: plainly, templateId: null, recipientIds: [] }, now)
    await take([prepared], null, now, { also: stored.uses() })
    const { id: emailId, message_id: messageId } = prepared.enqueued.email
    return json(200, { success: true, messageId, emailId })
  } finally {
    stored.release()
  }
}

const plainly = { trackOpens: null, trackClicks: null, tags: [], priority: 'normal', scheduledFor: null } as const
