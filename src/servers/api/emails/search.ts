/**
 * GET /emails of the pages: the emails of the workspace, newest first, narrowed by filters. A page may have fewer emails
 * than the limit although there are more: `messages/email-search.ts` says why.
 */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { requireKnownBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { type FoundEmail, searchEmails } from '../../../records/messages/email-search.js'
import { json } from '../http/answer.js'
import { encodeCursor, idCursor, limit, pageSchema } from '../http/input/paging.js'
import { domainName, moment, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { emailStatus, recipientCounts } from './email-record.js'

/** Characters. */
const MAX_TEXT = 320

const textRule = `allowed: 1 to ${MAX_TEXT} characters`
const text = z.string(textRule).min(1, textRule).max(MAX_TEXT, textRule).optional()

const query = z
  .strictObject({
    limit,
    cursor: idCursor,
    status: emailStatus.optional().meta({ description: 'Only emails with this status.' }),
    broadcast_id: z.string().min(1).max(256).optional().meta({
      description: 'The emails of this broadcast. Without it, those that belong to none.',
    }),
    domain: domainName.optional().meta({ description: 'Only emails from this domain.', example: 'example.com' }),
    tag_name: text.meta({ description: 'Only emails with a tag of this name.', example: 'campaign' }),
    tag_value: text.meta({ description: 'The value of that tag. Default: any.', example: 'spring' }),
    recipient: text.meta({ description: 'Part of the address of a recipient, in any case.', example: 'bob@' }),
    subject: text.meta({ description: 'Part of the subject, in any case.', example: 'Hello' }),
    text: text.meta({
      description: 'Part of the address of a recipient, of the subject or of the Message-ID, in any case.',
      example: 'invoice',
    }),
    from: moment.optional().meta({ description: 'Only emails that were accepted at this moment or later.' }),
    to: moment.optional().meta({ description: 'Only emails that were accepted before this moment.' }),
  })
  .superRefine(({ from, to, tag_name, tag_value }, context) => {
    const addProblem = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (from !== undefined && to !== undefined && from >= to) addProblem('to', 'must be later than from')
    if (tag_value !== undefined && tag_name === undefined) addProblem('tag_value', 'needs tag_name')
  })

type Query = z.output<typeof query>

const foundEmail = z
  .strictObject({
    id: z.string(),
    from_email: z.string(),
    from_name: z.string(),
    recipients: z.array(z.string()).meta({ description: 'To, Cc and Bcc.' }),
    subject: z.string(),
    tags: z.array(z.object({ name: z.string(), value: z.string() })).meta({ example: [] }),
    status: emailStatus,
    recipient_counts: recipientCounts,
    created_at: timestamp,
    scheduled_for: timestamp.nullable(),
    opened_at: timestamp.nullable(),
    clicked_at: timestamp.nullable(),
  })
  .meta({ id: 'FoundEmail' })

const page = pageSchema(foundEmail).extend({
  searched_to: timestamp.nullable().meta({ description: 'Older emails were not compared yet; null: all were.' }),
})

export function searchRoute({ read }: { readonly read: Read }): Route {
  return route<Query>({
    method: 'GET',
    path: '/emails',
    area: 'read',
    tag: 'Emails',
    summary: 'Look for emails, newest first',
    description: 'Follow `next_cursor` until it is null, even if a page has no emails.',
    query,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, query: { limit, cursor: after, ...filters } }) => {
      const search = { workspaceId, ...toSearch(filters) }
      if (search.broadcastId !== null) await requireKnownBroadcast(read, { workspaceId, id: search.broadcastId })
      const { emails, next } = await searchEmails(read, search, { after, limit })
      return json(200, {
        data: emails.map(toFoundEmail),
        has_more: next !== null,
        next_cursor: next === null ? null : encodeCursor(next.id),
        searched_to: next === null ? null : formatTimestamp(next.createdAt),
      } satisfies z.output<typeof page>)
    },
  })
}

function toSearch(filters: Omit<Query, 'limit' | 'cursor'>): Omit<Parameters<typeof searchEmails>[1], 'workspaceId'> {
  const {
    status = null,
    domain = null,
    recipient = null,
    subject = null,
    from = null,
    to = null,
    text = null,
  } = filters
  const { broadcast_id: broadcastId = null, tag_name: tagName = null, tag_value: tagValue = null } = filters
  return { status, domain, recipient, subject, text, from, to, broadcastId, tagName, tagValue }
}

function toFoundEmail(row: FoundEmail): z.output<typeof foundEmail> {
  const { id, from_email, from_name, subject, status } = row
  return {
    id,
    from_email,
    from_name,
    recipients: [row.to_emails, row.cc_emails, row.bcc_emails].flatMap((list) => [...parseJson(list)]),
    subject,
    tags: [...parseJson(row.tags)],
    status,
    recipient_counts: toRecipientCounts(row),
    created_at: formatTimestamp(row.created_at),
    scheduled_for: toTimestamp(row.scheduled_for),
    opened_at: toTimestamp(row.opened_at),
    clicked_at: toTimestamp(row.clicked_at),
  }
}

function toTimestamp(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
