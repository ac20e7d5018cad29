/** GET /emails/:id/story of the pages: the history of an email in words, as `posthorn explain` prints it. */
import { z } from 'zod'
import { describeReason, type Reason } from '../../../base/mail/reasons.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { type EmailDetails, type RecipientDetails, readEmailDetails } from '../../../records/messages/email-details.js'
import { requireVisibleEmail } from '../../../records/messages/email-resource.js'
import { describeLaterReport, describeNext } from '../../../records/messages/email-story.js'
import { json } from '../http/answer.js'
import { notFound, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { attempt, emailFields, recipientStatus } from './email-record.js'
import { viewerOf } from './show.js'

const why = z
  .string()
  .nullable()
  .meta({ description: 'The reason as a sentence.', example: 'The mailbox does not exist.' })

const timedText = z
  .strictObject({ before: z.string(), at: timestamp.nullable(), after: z.string() })
  .meta({ id: 'TimedText', description: 'A sentence: `before`, the moment `at`, `after`.' })

const storyAttempt = attempt.extend({ why }).meta({ id: 'AttemptStory' })

const storyRecipient = z
  .object({
    id: z.string(),
    email: z.string(),
    status: recipientStatus,
    reason: z.string().nullable(),
    why,
    last_response: z.string().nullable(),
    delivered_at: timestamp.nullable(),
    attempts: z.array(storyAttempt),
    later: z.string().nullable().meta({ description: 'What was reported after the last attempt.', example: null }),
    next: timedText.nullable().meta({ description: 'What comes next; null: nothing.' }),
    held_by: z.enum(['operator', 'workspace', 'rule']).nullable(),
    can: z
      .array(z.enum(['hold', 'release', 'retry']))
      .meta({ description: 'What members may do with it now.', example: ['hold', 'retry'] }),
  })
  .meta({ id: 'RecipientStory' })

const { html: _html, text: _text, headers: _headers, attachments: _files, recipients: _list, ...facts } = emailFields
const story = z.object({ ...facts, recipients: z.array(storyRecipient) }).meta({ id: 'EmailStory' })

export function storyRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/emails/:id/story',
    area: 'read',
    tag: 'Emails',
    summary: 'Read what happened to an email, attempt by attempt, and what comes next',
    answers: { 200: { description: 'The story', schema: story } },
    refusals: ['email_not_found'],
    run: async ({ principal, params: { id = '' } }) => {
      const { workspace_id: workspaceId } = await requireVisibleEmail(read, viewerOf(principal), id)
      const details = await readEmailDetails(read, { workspaceId, id })
      if (details === null) throw notFound('email-not-found', 'email', id)
      return json(200, toStory(details))
    },
  })
}

function toStory({ recipients, ...email }: EmailDetails): z.output<typeof story> {
  const lists = { to: [...email.to], cc: [...email.cc], bcc: [...email.bcc], reply_to: [...email.reply_to] }
  return { ...email, ...lists, tags: [...email.tags], recipients: recipients.map(toRecipientStory) }
}

function toRecipientStory(recipient: RecipientDetails): z.output<typeof storyRecipient> {
  const { id, email, status, reason, last_response, delivered_at, held_by } = recipient
  return {
    ...{ id, email, status, reason, last_response, delivered_at, held_by },
    why: sentenceOf(reason),
    attempts: recipient.attempts.map(({ address: _dialled, ...one }) => ({ ...one, why: sentenceOf(one.reason) })),
    later: describeLaterReport(recipient),
    next: describeNext(recipient),
    can: listActs(recipient),
  }
}

function sentenceOf(reason: Reason | null): string | null {
  return reason === null ? null : describeReason(reason)
}

/** An entry that is being attempted, or that waits for a paused broadcast, has no time. */
function listActs({ status, held_by, next_attempt_at }: RecipientDetails): ('hold' | 'release' | 'retry')[] {
  if (held_by === 'operator' || held_by === 'rule' || next_attempt_at === null) return []
  const hold = held_by === 'workspace' ? ('release' as const) : ('hold' as const)
  return status === 'scheduled' ? [hold] : [hold, 'retry']
}
