/**
 * GET /v1/emails: the emails of the workspace, newest first, in one of two forms.
 *
 * With `page` or `per_page` the answer has totals and numbered pages, otherwise it takes `limit` and `offset`. `status`
 * filters both. Emails of broadcasts are listed with `broadcast_id` only. A page after the last is empty, not an error;
 * `paging.ts` has the bounds.
 */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { requireKnownBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { countEmails, type ListedEmail, listEmails } from '../../../records/messages/email-list.js'
import { json } from '../http/answer.js'
import {
  buildList,
  checkListForm,
  listQueryFields,
  listSchema,
  numberedPageSchema,
  toListRequest,
  withNext,
} from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { emailStatus, recipientCounts } from './email-record.js'
import { lastEvent, lastEventOf } from './last-event.js'

const DEFAULT_LIMIT = 10

const query = z
  .strictObject({
    ...listQueryFields(DEFAULT_LIMIT),
    status: emailStatus.optional().meta({
      description: 'Only emails with this status; bounced and failed also find those of which one recipient has it.',
    }),
    broadcast_id: z.string().min(1).max(256).optional().meta({
      description: 'The emails of this broadcast. Without it, those that belong to none.',
    }),
  })
  .superRefine(checkListForm)

type Query = z.infer<typeof query>

const limitItem = z
  .object({
    id: z.string(),
    from_email: z.string(),
    from_name: z.string(),
    to_emails: z.array(z.string()),
    subject: z.string(),
    status: emailStatus,
    recipient_counts: recipientCounts,
    created_at: z.iso.datetime(),
    sent_at: z.iso.datetime().nullable(),
    message_id: z.string(),
    from: z.string(),
    to: z.array(z.string()),
    cc: z.array(z.string()).meta({ example: [] }),
    bcc: z.array(z.string()).meta({ example: [] }),
    reply_to: z.array(z.string()),
    last_event: lastEvent,
    scheduled_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ListedEmail' })
const pageItem = z
  .object({
    id: z.string(),
    from: z.string(),
    to: z.array(z.string()),
    subject: z.string(),
    status: emailStatus,
    recipient_counts: recipientCounts,
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'ListedEmailOfPage' })

const limitForm = listSchema(limitItem)
const pageForm = numberedPageSchema(pageItem)

export function listRoute({ read }: { readonly read: Read }): Route {
  return route<Query>({
    method: 'GET',
    path: '/emails',
    area: 'read',
    tag: 'Emails',
    summary: 'List emails, newest first',
    description: 'With `page` or `per_page` the answer has `success` and `meta`; otherwise `limit` and `offset` count.',
    query,
    answers: { 200: { description: 'The emails', schema: z.union([limitForm, pageForm]) } },
    refusals: ['not_found'],
    run: async ({
      principal: { workspaceId },
      query: { status = null, broadcast_id: broadcastId = null, ...place },
    }) => {
      if (broadcastId !== null) await requireKnownBroadcast(read, { workspaceId, id: broadcastId })
      const filter = { workspaceId, status, broadcastId }
      const { slice, metaOf } = toListRequest(place, DEFAULT_LIMIT)
      if (metaOf === null) {
        return json(200, buildList(await listEmails(read, filter, withNext(slice)), slice.limit, asLimitItem))
      }
      const rows = await listEmails(read, filter, slice)
      const meta = metaOf(await countEmails(read, filter))
      return json(200, { success: true, data: rows.map(asPageItem), meta } satisfies z.infer<typeof pageForm>)
    },
  })
}

function asLimitItem(row: ListedEmail): z.infer<typeof limitItem> {
  const { id, message_id, from_email, from_name, subject, status, created_at } = row
  const recipient_counts = toRecipientCounts(row)
  const to = [...parseJson(row.to_emails)]
  return {
    id,
    from_email,
    from_name,
    to_emails: to,
    subject,
    status,
    recipient_counts,
    created_at: formatTimestamp(created_at),
    sent_at: formatOrNull(row.sent_at),
    message_id,
    from: from_email,
    to,
    cc: [...parseJson(row.cc_emails)],
    bcc: [...parseJson(row.bcc_emails)],
    reply_to: [...parseJson(row.reply_to)],
    last_event: lastEventOf({ status, opened_at: row.opened_at, clicked_at: row.clicked_at, recipient_counts }),
    scheduled_at: formatOrNull(row.scheduled_for),
  }
}

function formatOrNull(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}

function asPageItem(row: ListedEmail): z.infer<typeof pageItem> {
  const { id, from_email: from, subject, status, created_at } = row
  const recipient_counts = toRecipientCounts(row)
  return {
    id,
    from,
    to: [...parseJson(row.to_emails)],
    subject,
    status,
    recipient_counts,
    created_at: formatTimestamp(created_at),
  }
}
