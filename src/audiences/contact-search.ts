/**
 * Contacts whose address begins with some text, in the order of addresses.
 *
 * The addresses of a workspace are walked over in their index, in steps: those that are in other audiences are passed
 * over without reading the contact.
 */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../storage/prepared.js'
import { waitForStep } from '../storage/stepped-walk.js'
import type { ContactFilter } from './contact-list.js'
import { type Contact, findContactInAudience } from './contacts.js'

/** The place of a contact in the order of addresses. */
export interface AddressPlace {
  /** In lower case. */
  readonly key: string
  /** Empty: in no audience. */
  readonly audience: string
}

interface SearchPage {
  readonly prefix: string
  /** Null: from the first. */
  readonly after: AddressPlace | null
  readonly limit: number
}

/** Index entries in one step. */
const STEP = 1_000
/** In UTF-8, greater than the rest of any address. */
const LAST = '\u{10FFFF}'

/** The same expression as in the index. */
const audienceKey = sql<string>`coalesce(audience_id, '')`

const placesBetween = prepareRead<{ workspaceId: string; key: string; audience: string; end: string }>()(
  ({ db, slot }) =>
    db
      .selectFrom('contacts')
      .select(['email_key as key', audienceKey.as('audience')])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('email_key', '>=', slot('key'))
      .where('email_key', '<', slot('end'))
      .where(sql<boolean>`(email_key, ${audienceKey}) > (${slot('key')}, ${slot('audience')})`)
      .orderBy('email_key')
      .orderBy(audienceKey)
      .limit(STEP),
)

export async function searchContacts(
  read: Read,
  { workspaceId, audienceId }: ContactFilter,
  { prefix, after, limit }: SearchPage,
): Promise<readonly Contact[]> {
  const start = prefix.toLowerCase()
  const found: AddressPlace[] = []
  let place = after ?? { key: start, audience: '' }
  let places = after === null ? [...placesAt(read, workspaceId, start)] : []
  for (;;) {
    places.push(...placesBetween(read, { workspaceId, ...place, end: start + LAST }))
    found.push(...places.filter(({ audience }) => audienceId === null || audience === audienceId))
    const last = places.at(-1)
    if (found.length >= limit || last === undefined || places.length < STEP) break
    place = last
    places = []
    await waitForStep()
  }
  return found
    .slice(0, limit)
    .flatMap(({ key, audience }) => findContactInAudience(read, workspaceId, audience || null, key) ?? [])
}

/** The contact without an audience whose address is the text itself: the first place, and behind none. */
function placesAt(read: Read, workspaceId: string, key: string): readonly AddressPlace[] {
  return findContactInAudience(read, workspaceId, null, key) === undefined ? [] : [{ key, audience: '' }]
}
