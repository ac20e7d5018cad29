/** GET /v1/inbound: the inbound emails of the workspace, newest first. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { type ListedInbound, listInbound } from '../../../records/messages/inbound/inbound-list.js'
import { json } from '../http/answer.js'
import { addressInQuery, domainName, moment, timestamp, wholeNumber } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

const MAX_OFFSET = 10_000_000
const MAX_LIMIT = 100
const DEFAULT_LIMIT = 50

const inboundStatus = z.enum(['received', 'processed', 'failed'], 'allowed: received, processed, failed')
const spamStatus = z.enum(['clean', 'suspicious', 'spam'], 'allowed: clean, suspicious, spam')

const query = z.strictObject({
  limit: wholeNumber(1, MAX_LIMIT)
    .optional()
    .meta({ description: `How many at most. Default ${DEFAULT_LIMIT}.` }),
  offset: wholeNumber(0, MAX_OFFSET).optional().meta({ description: 'How many to skip. Default 0.' }),
  status: inboundStatus.optional().meta({ description: 'Only emails with this status.' }),
  spam_status: spamStatus.optional().meta({ description: 'Only emails with this spam status.' }),
  domain: domainName.optional().meta({ description: 'Domain of the recipient.' }),
  from: addressInQuery.optional().meta({ description: 'Address of the From field.' }),
  since: moment.optional().meta({ description: 'Received at this moment or later.' }),
})

type Query = z.infer<typeof query>

/** The fields of an inbound email in lists and in the event `email.received`. */
export const summaryFields = {
  from: z.string().meta({ example: 'ann@example.org' }),
  from_name: z.string().meta({ example: 'Ann' }),
  to: z.array(z.string()).meta({ example: ['support@example.com'] }),
  cc: z.array(z.string()).nullable().meta({ example: null }),
  subject: z.string(),
  has_html: z.boolean(),
  has_text: z.boolean(),
  attachment_count: z.int(),
}

export const listItemFields = {
  id: z.string(),
  ...summaryFields,
  received_at: timestamp,
  status: inboundStatus,
  spam_status: spamStatus.nullable().meta({ description: 'Null until it is processed.' }),
  spam_score: z.number().nullable(),
}

const listItem = z.strictObject(listItemFields).meta({ id: 'ListedInboundEmail' })

export function inboundListRoute({ read }: { readonly read: Read }): Route {
  return route<Query>({
    method: 'GET',
    path: '/inbound',
    area: 'read',
    tag: 'Inbound email',
    summary: 'List inbound emails, newest first',
    query,
    answers: { 200: { description: 'The emails', schema: z.object({ data: z.array(listItem) }) } },
    refusals: ['invalid_email_address'],
    run: async ({ principal: { workspaceId }, query: { limit = DEFAULT_LIMIT, offset = 0, ...filters } }) => {
      const { status, spam_status, domain, from, since } = filters
      const filter = { workspaceId, status, spamStatus: spam_status, domain, from, since }
      const rows = await listInbound(read, filter, { offset, limit })
      return json(200, { data: rows.map(toListItem) })
    },
  })
}

export function toListItem(row: ListedInbound): z.output<typeof listItem> {
  const cc = parseJson(row.cc_emails)
  return {
    id: row.id,
    from: row.from_email,
    from_name: row.from_name,
    to: [...parseJson(row.to_emails)],
    cc: cc.length > 0 ? [...cc] : null,
    subject: row.subject,
    has_html: row.has_html === 1,
    has_text: row.has_text === 1,
    attachment_count: row.attachment_count,
    received_at: iso(row.received_at),
    status: row.status,
    spam_status: row.spam_status,
    spam_score: row.spam_score === null ? null : row.spam_score / 100,
  }
}
