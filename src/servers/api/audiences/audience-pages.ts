/** The routes that only the pages of audiences need: contacts by the beginning of their address, and numbers. */
import { z } from 'zod'
import { MAX_ID } from '../../../base/storage/db/paging.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { requireAudience } from '../../../workspaces/audiences/audiences.js'
import { listContactsBefore } from '../../../workspaces/audiences/contact-list.js'
import { type AddressPlace, searchContacts } from '../../../workspaces/audiences/contact-search.js'
import type { Contact } from '../../../workspaces/audiences/contacts.js'
import { countSubscribed } from '../../../workspaces/audiences/subscribed-contacts.js'
import { json } from '../http/answer.js'
import { buildPage, cursorSchema, limit, pageSchema } from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { audienceId, contact, toContactList } from './contact-fields.js'

const MAX_SEARCH = 320
const searchRule = `allowed: up to ${MAX_SEARCH} characters, no control characters`

/** The id of a contact; or, of a search, its address, percent-encoded, and the id of its audience. */
const cursor = cursorSchema(/^(?:[0-9a-f-]{36}|[!-~]{1,3000} [0-9a-f-]{0,36})$/, (text) => text)

const query = z.strictObject({
  limit,
  cursor,
  audience_id: audienceId.optional().meta({ description: 'Only contacts of this audience.' }),
  search: z
    .string(searchRule)
    .max(MAX_SEARCH, searchRule)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, searchRule)
    .optional()
    .meta({ description: 'Only contacts whose address begins with this, in the order of addresses.' }),
})

const numbers = z.strictObject({
  contacts: z.int().meta({ example: 1_250 }),
  subscribed: z.int().meta({ example: 1_204, description: 'Those that a broadcast goes to, unless suppressed.' }),
})

export function audiencePageRoutes(read: Read): readonly Route[] {
  return [contactsRoute(read), numbersRoute(read)]
}

function contactsRoute(read: Read): Route {
  return route({
    method: 'GET',
    path: '/contacts',
    area: 'read',
    tag: 'Contacts',
    summary: 'List contacts with a cursor, newest first, or search them',
    query,
    answers: { 200: { description: 'A page.', schema: pageSchema(contact) } },
    refusals: ['audience_not_found'],
    run: async ({ principal: { workspaceId }, query: { audience_id: id, limit, cursor, search = '' } }) => {
      const audienceId = id ?? null
      if (audienceId !== null) await requireAudience(read, workspaceId, audienceId)
      const filter = { workspaceId, audienceId }
      const isSearch = search.trim() !== ''
      const rows = isSearch
        ? await searchContacts(read, filter, { prefix: search.trim(), after: toPlace(cursor), limit: limit + 1 })
        : await listContactsBefore(read, filter, cursor?.includes(' ') === false ? cursor : MAX_ID, limit + 1)
      const page = buildPage(rows, limit, (row) => row, isSearch ? placeOf : ({ id }) => id)
      return json(200, { ...page, data: await toContactList(page.data) })
    },
  })
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
