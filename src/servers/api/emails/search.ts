/**
 * GET /emails of the pages: the emails of the workspace in an order of time, narrowed by filters. A page may have fewer
 * emails than the limit although there are more: `messages/email-search.ts` says why. A complete address finds the emails
 * of broadcasts too (`messages/emails-to-address.ts`).
 */
import { z } from 'zod'
import { type Address, tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { requireKnownBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import type { EmailSearch, FoundEmail } from '../../../records/messages/email-comparison.js'
import { searchEmails } from '../../../records/messages/email-search.js'
import { findEmailsTo } from '../../../records/messages/emails-to-address.js'
import { json } from '../http/answer.js'
import { cursorSchema, limit, pageSchema, toCursor } from '../http/input/paging.js'
import { domainName, moment, timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { emailStatus, recipientCounts } from './email-record.js'

/** Characters. */
const MAX_TEXT = 320

const textRule = `allowed: 1 to ${MAX_TEXT} characters`
const text = z.string(textRule).min(1, textRule).max(MAX_TEXT, textRule).optional()

/** The id of an email; or, where an address finds them, the number of an event. */
const cursor = cursorSchema(/^(?:(?:bc-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[1-9]\d{0,14})$/, (text) => text)

const query = z
  .strictObject({
    limit,
    cursor,
    status: emailStatus.optional().meta({ description: 'Only emails with this status.' }),
    broadcast_id: z.string().min(1).max(256).optional().meta({
      description: 'The emails of this broadcast. Without it, those that belong to none, unless `broadcasts` is `all`.',
    }),
    broadcasts: z.enum(['none', 'all'], 'allowed: none, all').optional().meta({
      description: 'Whether emails of broadcasts are compared too. A complete address finds them in any case.',
    }),
    order: z.enum(['newest', 'oldest'], 'allowed: newest, oldest').optional().meta({
      description: 'The order of the times when emails were accepted. Default: newest.',
    }),
    domain: domainName.optional().meta({ description: 'Only emails from this domain.', example: 'example.com' }),
    tag_name: text.meta({ description: 'Only emails with a tag of this name.', example: 'campaign' }),
    tag_value: text.meta({ description: 'The value of that tag. Default: any.', example: 'spring' }),
    key_id: text.meta({ description: 'Only emails that this API key has sent.' }),
    recipient: text.meta({
      description: 'A recipient, in any case: a complete address finds all emails to it; else a part of the address.',
      example: 'bob@example.com',
    }),
    subject: text.meta({ description: 'Part of the subject, in any case.', example: 'Hello' }),
    text: text.meta({
      description: 'Part of the address of a recipient, of the subject or of the Message-ID, in any case.',
      example: 'invoice',
    }),
    from: moment.optional().meta({ description: 'Only emails that were accepted at this moment or later.' }),
    to: moment.optional().meta({ description: 'Only emails that were accepted before this moment.' }),
  })
  .superRefine(({ from, to, tag_name, tag_value, broadcast_id, broadcasts }, context) => {
    const addProblem = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message })
    if (from !== undefined && to !== undefined && from >= to) addProblem('to', 'must be later than from')
    if (broadcast_id !== undefined && broadcasts !== undefined)
      addProblem('broadcasts', 'cannot be combined with broadcast_id')
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
    broadcast_id: z.string().nullable().meta({ description: 'The broadcast that it belongs to.', example: null }),
  })
  .meta({ id: 'FoundEmail' })

const page = pageSchema(foundEmail).extend({
  searched_to: timestamp.nullable().meta({
    description: 'Emails beyond this time were not compared yet; null: all were, or the address has found them.',
  }),
  with_broadcasts: z.boolean().meta({ description: 'Whether emails of broadcasts were looked for.', example: false }),
})

export function searchRoute({ read }: { readonly read: Read }): Route {
  return route<Query>({
    method: 'GET',
    path: '/emails',
    area: 'read',
    tag: 'Emails',
    summary: 'Look for emails, newest or oldest first',
    description: 'Follow `next_cursor` until it is null, even if a page has no emails.',
    query,
    answers: { 200: { description: 'A page.', schema: page } },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, query: { limit, cursor, order, ...filters } }) => {
      const search = { workspaceId, ...toSearch(filters) }
      if (search.broadcastId !== null) await requireKnownBroadcast(read, { workspaceId, id: search.broadcastId })
      const request = { cursor, order: order === 'oldest' ? ('asc' as const) : ('desc' as const), limit }
      return json(200, (await findByAddress(read, search, request)) ?? (await findByComparison(read, search, request)))
    },
  })
}

interface PageRequest {
  readonly cursor: string | undefined
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

/** Returns null if no address is complete, or if it is the `text` and has no email: a Message-ID looks like one. */
async function findByAddress(
  read: Read,
  search: EmailSearch,
  { cursor, ...request }: PageRequest,
): Promise<z.output<typeof page> | null> {
  const sought = search.broadcastId === null && !isIdPlace(cursor) ? splitAddress(search) : null
  if (sought === null) return null
  const after = cursor === undefined ? null : Number(cursor)
  const { emails, next } = await findEmailsTo(read, sought.address, sought.search, { ...request, after })
  if (search.recipient === null && cursor === undefined && emails.length === 0 && next === null) return null
  return {
    ...{ data: emails.map(toFoundEmail), has_more: next !== null, next_cursor: toCursor(next) },
    ...{ searched_to: null, with_broadcasts: true },
  }
}

function isIdPlace(cursor: string | undefined): boolean {
  return cursor?.includes('-') ?? false
}

/** Takes a complete address from the filters that it replaces. */
function splitAddress(search: EmailSearch): { readonly address: Address; readonly search: EmailSearch } | null {
  const ofRecipient = search.recipient === null ? null : tryParseForeignAddress(search.recipient)
  if (ofRecipient !== null) return { address: ofRecipient, search: { ...search, recipient: null } }
  const ofText = search.text === null ? null : tryParseForeignAddress(search.text)
  return ofText === null ? null : { address: ofText, search: { ...search, text: null } }
}

async function findByComparison(
  read: Read,
  search: EmailSearch,
  { cursor, order, limit }: PageRequest,
): Promise<z.output<typeof page>> {
  const after = isIdPlace(cursor) ? cursor : undefined
  const { emails, next } = await searchEmails(read, search, { after, order, limit })
  return {
    data: emails.map(toFoundEmail),
    has_more: next !== null,
    next_cursor: toCursor(next?.id ?? null),
    searched_to: next === null ? null : formatTimestamp(next.createdAt),
    with_broadcasts: search.broadcastId !== null || search.withBroadcasts === true,
  }
}

function toSearch(filters: Omit<Query, 'limit' | 'cursor' | 'order'>): Omit<EmailSearch, 'workspaceId'> {
  const { status = null, domain = null, recipient = null, subject = null, text = null } = filters
  const { from = null, to = null, broadcast_id: broadcastId = null, broadcasts } = filters
  const { tag_name: tagName = null, tag_value: tagValue = null, key_id: keyId = null } = filters
  const withBroadcasts = broadcasts === 'all'
  return { status, domain, recipient, subject, text, from, to, broadcastId, withBroadcasts, tagName, tagValue, keyId }
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
    broadcast_id: row.broadcast_id,
  }
}

function toTimestamp(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at)
}
