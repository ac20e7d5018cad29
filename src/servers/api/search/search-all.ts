/**
 * GET /ui/api/search: finds what a text names among everything of a workspace, a few of each kind, for the search field of
 * the dashboard.
 *
 * Each kind is bounded: by an index, or by the number of rows that are compared. `notes` says what was not compared.
 */
import { z } from 'zod'
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { toRecipientCounts } from '../../../records/messages/email/recipient-counts.js'
import { inboundById } from '../../../records/messages/inbound/inbound-email.js'
import { listInbound } from '../../../records/messages/inbound/inbound-list.js'
import { searchSuppressions } from '../../../records/suppressions/suppression-search.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { searchContacts } from '../../../workspaces/audiences/contact-search.js'
import { walkContacts } from '../../../workspaces/audiences/contact-walk.js'
import { contactById } from '../../../workspaces/audiences/contacts.js'
import { searchDomains } from '../../../workspaces/domains/domain-search.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { type FoundEmail, findEmails } from './found-emails.js'
import { namedKindsFor } from './found-names.js'

/** Items of each kind. */
const MAX_ITEMS = 5
const MAX_TEXT = 320
const textRule = `allowed: 2 to ${MAX_TEXT} characters, no control characters`

const query = z.strictObject({
  text: z
    .string(textRule)
    .trim()
    .min(2, textRule)
    .max(MAX_TEXT, textRule)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, textRule)
    .meta({ description: 'An address, a subject, an id, a Message-ID, a domain, a name.', example: 'bob@example.com' }),
})

const item = z
  .strictObject({
    id: z.string(),
    title: z.string().meta({ example: 'Your order' }),
    note: z.string().meta({ example: 'to bob@example.com' }),
    status: z.string().nullable().meta({ example: 'delivered' }),
    at: timestamp.nullable(),
  })
  .meta({ id: 'FoundItem' })
const kind = z.enum([
  ...(['emails', 'contacts', 'broadcasts', 'audiences', 'templates'] as const),
  ...(['domains', 'suppressions', 'inbound', 'keys', 'webhooks'] as const),
])
const group = z
  .strictObject({ kind, items: z.array(item), has_more: z.boolean().meta({ example: false }) })
  .meta({ id: 'FoundGroup' })
const found = z.strictObject({
  data: z.array(group).meta({ description: 'Kinds of which something was found.' }),
  notes: z.array(z.string()).meta({ description: 'What was not compared, in sentences.', example: [] }),
})

type Item = z.output<typeof item>
type Group = z.output<typeof group>
/** What was found of one kind. It may have one item more than is shown, which says that there are more. */
interface Found {
  readonly items: readonly Item[]
  readonly hasMore?: boolean
  readonly note?: string | null
}

interface Search {
  readonly workspaceId: string
  readonly text: string
}

export function searchAllRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/search',
    area: 'read',
    tag: 'Search',
    summary: `Search everything, at most ${MAX_ITEMS} of each kind`,
    query,
    answers: { 200: { description: 'What was found.', schema: found } },
    refusals: [],
    run: async ({ principal, query: { text } }) => {
      const search = { workspaceId: principal.workspaceId, text }
      const kinds = [...finders, ...findersOfNames(principal)]
      const results = await Promise.all(kinds.map(async ([name, find]) => ({ name, ...(await find(read, search)) })))
      return json(200, {
        data: results.filter(({ items }) => items.length > 0).map(toGroup),
        notes: results.flatMap(({ note = null }) => (note === null ? [] : [note])),
      })
    },
  })
}

function toGroup({ name, items, hasMore }: Found & { readonly name: Group['kind'] }): Group {
  return { kind: name, items: items.slice(0, MAX_ITEMS), has_more: hasMore ?? items.length > MAX_ITEMS }
}

type Find = (read: Read, search: Search) => Promise<Found>
type Finder = readonly [kind: Group['kind'], find: Find]

function findersOfNames(principal: Principal): readonly Finder[] {
  return namedKindsFor(principal).map(({ kind: name, words, find }) => [
    name,
    async (read, search) => {
      const { rows, isPartial } = await find(read, { ...search, limit: MAX_ITEMS })
      const items = rows.map(({ id, title, note, status }) => ({ id, title, note: note ?? '', status, at: null }))
      return { items, note: isPartial ? `Only the newest ${words} were compared.` : null }
    },
  ])
}

const finders: readonly Finder[] = [
  ['emails', findSent],
  ['contacts', findPeople],
  ['domains', findDomains],
  ['suppressions', findSuppressed],
  ['inbound', findReceived],
]

async function findSent(read: Read, search: Search): Promise<Found> {
  const { emails, hasMore, isPartial } = await findEmails(read, { ...search, limit: MAX_ITEMS })
  const items = emails.map((email) => ({
    ...{ id: email.id, title: email.subject, note: describeRecipients(email), status: email.status },
    at: formatTimestamp(email.created_at),
  }))
  const note = isPartial
    ? 'Subjects and parts of addresses were compared with the newest emails that belong to no broadcast. A complete address finds all of its emails, also those of broadcasts.'
    : null
  return { items, hasMore, note }
}

/** Names the first recipient, and counts the outcomes if they differ, because the status is that of one recipient. */
function describeRecipients(email: FoundEmail): string {
  const [first = 'hidden recipients', ...others] = parseJson(email.to_emails)
  const states = Object.entries(toRecipientCounts(email)).filter(([, count]) => count > 0)
  const counts = states.length < 2 ? '' : ` (${states.map(([state, count]) => `${count} ${state}`).join(', ')})`
  const origin = email.broadcast_id === null ? '' : ', of a broadcast'
  return `to ${first}${others.length === 0 ? '' : ` and ${others.length} more`}${counts}${origin}`
}

async function findPeople(read: Read, { workspaceId, text }: Search): Promise<Found> {
  const named = await contactById(read, workspaceId, text.toLowerCase())
  const filter = { workspaceId, audienceId: null }
  const page = { prefix: text, after: null, limit: MAX_ITEMS + 1 }
  const begun = named === undefined ? await searchContacts(read, filter, page) : [named]
  const walk = { ...filter, part: text, state: null, without: text.toLowerCase() }
  const limit = MAX_ITEMS + 1 - begun.length
  const { contacts, next } =
    limit === 0 || named !== undefined
      ? { contacts: [], next: null }
      : await walkContacts(read, walk, { before: AFTER_ALL, limit })
  const items = [...begun, ...contacts].map(({ id, email, first_name, last_name, subscribed }) => ({
    ...{ id, title: email, at: null, status: subscribed === 1 ? 'subscribed' : 'unsubscribed' },
    note: [first_name, last_name].filter((name) => name !== null && name !== '').join(' '),
  }))
  const isPartial = next !== null && contacts.length < limit
  return { items, note: isPartial ? 'Names and parts of addresses were compared with the newest contacts.' : null }
}

/** Greater than the id of any contact. */
const AFTER_ALL = 'g'

async function findDomains(read: Read, { workspaceId, text }: Search): Promise<Found> {
  const beginning = text.slice(text.lastIndexOf('@') + 1)
  if (beginning === '') return { items: [] }
  const domains = await searchDomains(read, { workspaceId, beginning, limit: MAX_ITEMS + 1 })
  return { items: domains.map(({ id, domain, status }) => ({ id, title: domain, note: '', status, at: null })) }
}

async function findSuppressed(read: Read, { workspaceId, text }: Search): Promise<Found> {
  const page = { workspaceId, beginning: text, reason: undefined, after: undefined, limit: MAX_ITEMS + 1 }
  const items = (await searchSuppressions(read, page)).map(({ id, email, reason, created_at }) => ({
    ...{ id, title: email, note: '', status: reason, at: formatTimestamp(created_at) },
  }))
  return { items }
}

/** Finds received mail by its id and by the complete address of its sender. */
async function findReceived(read: Read, { workspaceId, text }: Search): Promise<Found> {
  const from = tryParseForeignAddress(text)
  const slice = { offset: 0, limit: MAX_ITEMS + 1 }
  const mail =
    from === null
      ? await inboundById(read, { workspaceId, id: text.toLowerCase() })
      : await listInbound(read, { workspaceId, from }, slice)
  const items = mail.map(({ id, subject, from_email, spam_status, received_at }) => ({
    ...{ id, title: subject, note: `from ${from_email}`, status: spam_status, at: formatTimestamp(received_at) },
  }))
  return { items }
}
