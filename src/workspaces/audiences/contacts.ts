/**
 * The record of a contact: an address in an audience of a workspace, or in no audience.
 *
 * An audience has an address once, compared in lower case. A unique index enforces this, so that of two concurrent
 * inserts exactly one succeeds. The customer chooses names and metadata.
 */
import { sql } from 'kysely'
import { uuidv7 } from '../../base/platform/ids.js'
import { isInJsonList } from '../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, queryBuilder, type Read, toWrite } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { type Json, type JsonObject, toJson } from '../../base/storage/tables/columns.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type Contact = Tables['contacts']
export type Metadata = JsonObject

/** Bytes of a contact's metadata as JSON. */
export const MAX_METADATA = 16_384
/** Levels of objects and lists in the metadata. A request allows the same number. */
export const MAX_METADATA_DEPTH = 31
/** Characters of a first or last name. */
export const MAX_NAME = 255

/** The commit rejects with `ConstraintViolated` if the audience has the address. */
export const insertContact = prepareWrite<Contact>(({ db, slot }) =>
  db.insertInto('contacts').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    audience_id: slot('audience_id'),
    email: slot('email'),
    email_key: slot('email_key'),
    first_name: slot('first_name'),
    last_name: slot('last_name'),
    subscribed: slot('subscribed'),
    metadata: slot('metadata'),
    created_at: slot('created_at'),
    updated_at: slot('updated_at'),
  }),
)

interface NewContact {
  readonly workspaceId: string
  readonly audienceId: string | null
  readonly email: Contact['email']
  readonly now: number
}

/** A subscribed contact without names and metadata. */
export function newContactOf({ workspaceId, audienceId, email, now }: NewContact): Contact {
  return {
    id: uuidv7(now),
    workspace_id: workspaceId,
    audience_id: audienceId,
    email,
    email_key: email.toLowerCase(),
    first_name: null,
    last_name: null,
    subscribed: 1,
    metadata: toJson({}),
    created_at: now,
    updated_at: now,
  }
}

export type ContactFields = Pick<
  Contact,
  'email' | 'email_key' | 'first_name' | 'last_name' | 'audience_id' | 'subscribed' | 'metadata'
>

/** Changes the given fields. Misses when there is no such contact in the workspace. */
export function changeContact(
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  change: Partial<ContactFields> & Pick<Contact, 'updated_at'>,
): Write {
  const contact = queryBuilder.updateTable('contacts').where('workspace_id', '=', workspaceId).where('id', '=', id)
  return toWrite(contact.set(change), 1)
}

/** Misses when there is no such contact in the workspace, or when its subscription is not `from`. */
export const changeSubscription = prepareWrite<{
  workspaceId: string
  id: string
  from: Contact['subscribed']
  to: Contact['subscribed']
  at: number
}>(
  ({ db, slot }) =>
    db
      .updateTable('contacts')
      .set({ subscribed: slot('to'), updated_at: slot('at') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('subscribed', '=', slot('from')),
  1,
)

/** Misses when there is no such contact in the workspace. */
export const removeContact = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db.deleteFrom('contacts').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

const byId = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db.selectFrom('contacts').selectAll().where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
)

export async function contactById(read: Read, workspaceId: string, id: string): Promise<Contact | undefined> {
  return (await byId(read, { workspaceId, id }))[0]
}

/** Finds the contacts of all audiences, unordered. With an order SQLite would walk all contacts of the workspace. */
export const contactIdsByKey = prepareRead<{ workspaceId: string; key: string }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .select(['id', 'audience_id'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email_key', '=', slot('key')),
)

const byAddress = prepareRead<{ workspaceId: string; key: string; audience: string }>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email_key', '=', slot('key'))
    // The index has the same expression, so SQLite reads no contacts of other audiences.
    .where((eb) => eb.fn.coalesce('audience_id', sql.lit('')), '=', slot('audience')),
)

const byAddresses = prepareRead<{ workspaceId: string; audience: string; keys: Json<readonly string[]> }>()(
  ({ db, slot }) =>
    db
      .selectFrom('contacts')
      .selectAll()
      .where('workspace_id', '=', slot('workspaceId'))
      .where(isInJsonList('email_key', slot('keys')))
      .where((eb) => eb.fn.coalesce('audience_id', sql.lit('')), '=', slot('audience')),
)

/** Finds the contacts with these addresses in that audience, unordered. Up to a few hundred may be asked for. */
export async function findContactsInAudience(
  read: Read,
  workspaceId: string,
  audience: string,
  keys: readonly string[],
): Promise<readonly Contact[]> {
  return keys.length === 0 ? [] : byAddresses(read, { workspaceId, audience, keys: toJson(keys) })
}

/** Finds the contact with that address in that audience. A null `audienceId` means in no audience. */
export async function findContactInAudience(
  read: Read,
  workspaceId: string,
  audienceId: string | null,
  key: string,
): Promise<Contact | undefined> {
  return (await byAddress(read, { workspaceId, key, audience: audienceId ?? '' }))[0]
}
