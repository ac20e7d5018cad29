/**
 * GET /v1/emails: the emails of the workspace, newest first, in one of two forms.
 *
 * With `page` or `per_page` the answer tells totals and counts in pages; otherwise it takes
 * `limit` and `offset`. `status` filters both. A page behind the last is empty, not an error;
 * further than `MOST` emails down the list nobody can ask.
 */
import { z } from 'zod'
import { countEmails, type EmailFilter, type ListedEmail, listEmails } from '../../messages/email-list.js'
import { timestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { wholeNumber } from '../query-number.js'
import { json, type Route, route } from '../route.js'
import { emailStatus } from './statuses.js'

const MOST = 10_000_000
const MOST_AT_ONCE = 100
const DEFAULT_LIMIT = 10
const DEFAULT_PER_PAGE = 50

const query = z
  .strictObject({
    limit: wholeNumber(1, MOST_AT_ONCE)
      .optional()
      .meta({ description: `Default ${DEFAULT_LIMIT}.` }),
    offset: wholeNumber(0, MOST).optional().meta({ description: 'Default 0.' }),
    page: wholeNumber(1, MOST).optional().meta({ description: 'Default 1.' }),
    per_page: wholeNumber(1, MOST_AT_ONCE)
      .optional()
      .meta({ description: `Default ${DEFAULT_PER_PAGE}.` }),
    status: emailStatus.optional(),
  })
  .superRefine(({ limit, offset, page, per_page }, context) => {
    const problem = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message })
    }
    if (page === undefined && per_page === undefined) return
    if (limit !== undefined) problem('limit', 'cannot stand beside page and per_page')
    if (offset !== undefined) problem('offset', 'cannot stand beside page and per_page')
    if (offsetOf(page, per_page) > MOST) problem('page', `at most ${MOST} emails can be passed over`)
  })

type Query = z.infer<typeof query>

const limitItem = z.object({
  id: z.string(),
  from_email: z.string(),
  from_name: z.string(),
  to_emails: z.array(z.string()),
  subject: z.string(),
  status: emailStatus,
  created_at: z.iso.datetime(),
  sent_at: z.iso.datetime().nullable(),
})
const pageItem = z.object({
  id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  subject: z.string(),
  status: emailStatus,
  created_at: z.iso.datetime(),
})

const limitForm = z.object({ data: z.array(limitItem) })
const pageForm = z.object({
  success: z.literal(true),
  data: z.array(pageItem),
  meta: z.object({ total: z.int(), page: z.int(), page_size: z.int(), pages: z.int() }),
})

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
    refusals: [],
    run: async ({ principal: { workspaceId }, query: { limit, offset, page, per_page, status = null } }) => {
      const filter = { workspaceId, status }
      const body =
        page === undefined && per_page === undefined
          ? await byLimit(read, filter, limit, offset)
          : await byPage(read, filter, page, per_page)
      return json(200, body)
    },
  })
}

function offsetOf(page = 1, perPage = DEFAULT_PER_PAGE): number {
  return (page - 1) * perPage
}

async function byLimit(
  read: Read,
  filter: EmailFilter,
  limit = DEFAULT_LIMIT,
  offset = 0,
): Promise<z.infer<typeof limitForm>> {
  const rows = await listEmails(read, filter, { offset, limit })
  return { data: rows.map(asLimitItem) }
}

async function byPage(
  read: Read,
  filter: EmailFilter,
  page = 1,
  perPage = DEFAULT_PER_PAGE,
): Promise<z.infer<typeof pageForm>> {
  const total = countEmails(read, filter)
  const rows = await listEmails(read, filter, { offset: offsetOf(page, perPage), limit: perPage })
  const meta = { total, page, page_size: perPage, pages: Math.ceil(total / perPage) }
  return { success: true, data: rows.map(asPageItem), meta }
}

function asLimitItem(row: ListedEmail): z.infer<typeof limitItem> {
  const { id, from_email, from_name, subject, status, created_at, sent_at } = row
  return {
    id,
    from_email,
    from_name,
    to_emails: addresses(row),
    subject,
    status,
    created_at: timestamp(created_at),
    sent_at: sent_at === null ? null : timestamp(sent_at),
  }
}

function asPageItem(row: ListedEmail): z.infer<typeof pageItem> {
  const { id, from_email: from, subject, status, created_at } = row
  return { id, from, to: addresses(row), subject, status, created_at: timestamp(created_at) }
}

function addresses({ to_emails }: ListedEmail): string[] {
  return JSON.parse(to_emails) as string[]
}
