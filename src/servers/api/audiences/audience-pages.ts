/** The routes that only the pages of audiences need: contacts by parts of address and name and by state, and numbers. */
import { z } from 'zod'
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import { findSuppression } from '../../../records/suppressions/suppressions.js'
import { requireAudience } from '../../../workspaces/audiences/audiences.js'
import { type ContactFilter, listContactsBefore } from '../../../workspaces/audiences/contact-list.js'
import { type AddressPlace, searchContacts } from '../../../workspaces/audiences/contact-search.js'
import { contactStates, walkContacts } from '../../../workspaces/audiences/contact-walk.js'
import type { Contact } from '../../../workspaces/audiences/contacts.js'
import { countSubscribed } from '../../../workspaces/audiences/subscribed-contacts.js'
import { json } from '../http/answer.js'
import { cursorSchema, limit, pageSchema, toCursor } from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { suppressionReason } from '../suppressions/suppressions.js'
import { audienceId, contact, toListedContacts } from './contact-fields.js'

const MAX_SEARCH = 320
const searchRule = `allowed: up to ${MAX_SEARCH} characters, no control characters`

/** The id of a contact; or, in the order of addresses, its address, percent-encoded, and the id of its audience. */
const cursor = cursorSchema(/^(?:[0-9a-f-]{36}|[!-~]{1,3000} [0-9a-f-]{0,36})$/, (text) => text)

const query = z
  .strictObject({
    limit,
    cursor,
    audience_id: audienceId.optional().meta({ description: 'Only contacts of this audience.' }),
    search: z
      .string(searchRule)
      .max(MAX_SEARCH, searchRule)
      .regex(/^[^\p{Cc}\p{Cs}]*$/u, searchRule)
      .optional()
      .meta({
        description: 'Part of the address or of the name, in any case. Addresses that begin with it are first.',
      }),
    state: z.enum(contactStates).optional().meta({ description: 'Only contacts in this state.' }),
    sort: z.enum(['newest', 'address']).optional().meta({ description: 'The order. Default: newest.' }),
  })
  .refine(({ search = '', state, sort }) => sort !== 'address' || (search.trim() === '' && state === undefined), {
    path: ['sort'],
    error: 'address cannot be combined with search and state',
  })

type Query = z.output<typeof query>

const listedContact = contact
  .extend({
    suppressed: suppressionReason.nullable().meta({ description: 'Why no email is sent to the address; null: it is.' }),
  })
  .meta({ id: 'ListedContact' })

const numbers = z.strictObject({
  contacts: z.int().meta({ example: 1_250 }),
  subscribed: z.int().meta({ example: 1_204, description: 'Those that a broadcast goes to, unless suppressed.' }),
})

export function audiencePageRoutes(read: Read): readonly Route[] {
  return [contactsRoute(read), numbersRoute(read)]
}

function contactsRoute(read: Read): Route {
  return route<Query>({
    method: 'GET',
    path: '/contacts',
    area: 'read',
    tag: 'Contacts',
    summary: 'List contacts with a cursor, newest first, or search them',
    description: 'Follow `next_cursor` until it is null, even if a page has no contacts: a request compares 25,000.',
    query,
    answers: { 200: { description: 'A page.', schema: pageSchema(listedContact) } },
    refusals: ['audience_not_found'],
    run: async ({ principal: { workspaceId }, query }) => {
      const audienceId = query.audience_id ?? null
      if (audienceId !== null) await requireAudience(read, workspaceId, audienceId)
      const { contacts, next } = await findContacts(read, { workspaceId, audienceId }, query)
      const listed = contacts.map(async (row) => ({ row, suppressed: await reasonOf(read, row) }))
      return json(200, {
        data: await toListedContacts(await Promise.all(listed)),
        has_more: next !== null,
        next_cursor: toCursor(next),
      })
    },
  })
}

async function reasonOf(read: Read, { workspace_id: workspaceId, email }: Contact): Promise<SuppressionReason | null> {
  const address = tryParseForeignAddress(email)
  return address === null ? null : ((await findSuppression(read, workspaceId, address))?.reason ?? null)
}

/** Greater than the id of any contact, in the form of an id. */
const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

interface FoundContacts {
  readonly contacts: readonly Contact[]
  /** The place of the next page. */
  readonly next: string | null
}

/**
 * A search has two parts: first the addresses that begin with the text, which an index finds, in their order; then all
 * others that have it anywhere, newest first.
 */
async function findContacts(
  read: Read,
  filter: ContactFilter,
  { search = '', state: requested, sort = 'newest', cursor, limit }: Query,
): Promise<FoundContacts> {
  const part = search.trim()
  const state = requested ?? null
  const byId = cursor?.includes(' ') === false ? cursor : undefined
  if (part === '' && state === null && sort === 'newest') {
    const rows = await listContactsBefore(read, filter, byId ?? MAX_ID, limit + 1)
    return { contacts: rows.slice(0, limit), next: rows.length > limit ? (rows[limit - 1]?.id ?? null) : null }
  }
  const isOrdered = state === null && byId === undefined
  const first = isOrdered
    ? await searchContacts(read, filter, { prefix: part, after: toPlace(cursor), limit: limit + 1 })
    : []
  const last = first[limit - 1]
  if (first.length > limit && last !== undefined) return { contacts: first.slice(0, limit), next: placeOf(last) }
  if (sort === 'address') return { contacts: first, next: null }
  if (first.length === limit) return { contacts: first, next: AFTER_ALL }
  const without = state === null ? part.toLowerCase() : null
  const walk = { ...filter, part: part === '' ? null : part, state, without }
  const walked = await walkContacts(read, walk, { before: byId ?? AFTER_ALL, limit: limit - first.length })
  return { contacts: [...first, ...walked.contacts], next: walked.next }
}

function placeOf({ email_key: key, audience_id: audience }: Contact): string {
  return `${encodeURIComponent(key)} ${audience ?? ''}`
}

function toPlace(cursor: string | undefined): AddressPlace | null {
  const [key, audience] = cursor?.split(' ') ?? []
  if (key === undefined || audience === undefined) return null
  try {
    return { key: decodeURIComponent(key), audience }
  } catch {
    // The cursor is forged: the list begins at the first page.
    return null
  }
}

function numbersRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/audiences/:id/numbers',
    area: 'read',
    tag: 'Audiences',
    summary: 'Count the contacts of an audience, and the subscribed ones',
    answers: { 200: { description: 'The numbers.', schema: numbers } },
    refusals: ['audience_not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      await requireAudience(read, workspaceId, id)
      return json(200, await countSubscribed(read, workspaceId, id))
    },
  })
}
