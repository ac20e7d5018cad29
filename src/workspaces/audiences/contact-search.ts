/**
 * Finds contacts whose address begins with some text, in one audience or in the workspace. They are in the order of
 * addresses. An address that is in several audiences has a contact in each, in the order of their ids.
 */
import { sql } from 'kysely'
import { prepareLongRead, type Read } from '../../base/storage/db/prepared.js'
import type { ContactFilter } from './contact-list.js'
import { type Contact, findContactInAudience } from './contacts.js'

/** The place of a contact in the order of addresses. */
export interface AddressPlace {
  /** The key in lower case. */
  readonly key: string
  /** An empty text means that the contact is in no audience. */
  readonly audience: string
}

interface SearchPage {
  readonly prefix: string
  /** Null starts at the first contact. */
  readonly after: AddressPlace | null
  readonly limit: number
}

interface PageQuery {
  workspaceId: string
  /** The search looks for keys between these two. */
  from: string
  end: string
  limit: number
}

/** Sorts in UTF-8 after the rest of any address. */
const LAST = '\u{10FFFF}'

/** The index has the same expression. */
const audienceKey = sql<string>`coalesce(audience_id, '')`

const pageOfWorkspace = prepareLongRead<PageQuery & { audience: string }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email_key', '>=', slot('from'))
    .where('email_key', '<', slot('end'))
    .where(sql<boolean>`(email_key, ${audienceKey}) > (${slot('from')}, ${slot('audience')})`)
    .orderBy('email_key')
    .orderBy(audienceKey)
    .limit(slot('limit')),
)

const pageOfAudience = prepareLongRead<PageQuery & { audienceId: string; after: string }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where((eb) => eb.between('email_key', slot('from'), slot('end')))
    .where('email_key', '<>', slot('after'))
    .orderBy('email_key')
    .limit(slot('limit')),
)

export async function searchContacts(
  read: Read,
  { workspaceId, audienceId }: ContactFilter,
  { prefix, after, limit }: SearchPage,
): Promise<readonly Contact[]> {
  const start = prefix.toLowerCase()
  const from = after === null || after.key < start ? start : after.key
  const page = { workspaceId, from, end: start + LAST, limit }
  if (audienceId !== null) return pageOfAudience(read, { ...page, audienceId, after: after?.key ?? '' })
  if (after !== null) return pageOfWorkspace(read, { ...page, audience: after.audience })
  return [
    ...(await contactsAt(read, workspaceId, start)),
    ...(await pageOfWorkspace(read, { ...page, audience: '' })),
  ].slice(0, limit)
}

/** Finds the contact without an audience whose address is the text itself. It has the first place. */
async function contactsAt(read: Read, workspaceId: string, key: string): Promise<readonly Contact[]> {
  const contact = await findContactInAudience(read, workspaceId, null, key)
  return contact === undefined ? [] : [contact]
}
