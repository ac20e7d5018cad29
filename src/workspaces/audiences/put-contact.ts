/**
 * Adds and changes single contacts. The commit checks that the address is new to the audience and that the audience
 * exists. When it fails, we look up the reason and throw it as a Refusal.
 */
import type { Address } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, type Write, WriteConflict } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { assertAudienceExists, requireAudience } from './audiences.js'
import type { Metadata } from './contacts.js'
import {
  type Contact,
  type ContactFields,
  changeContact,
  contactById,
  findContactInAudience,
  insertContact,
  newContactOf,
} from './contacts.js'

/** The fields of a request. An undefined field was not given. */
interface RequestedContact {
  readonly email?: Address | undefined
  readonly first_name?: string | null | undefined
  readonly last_name?: string | null | undefined
  readonly audience_id?: string | null | undefined
  readonly subscribed?: boolean | undefined
  readonly metadata?: Metadata | undefined
}

/** Rejects with a Refusal: `audience-not-found` or `conflict`. */
export async function addContact(
  { read, commit }: Store,
  workspaceId: string,
  requested: RequestedContact & { readonly email: Address },
  now: number,
): Promise<Contact> {
  const contact: Contact = {
    ...newContactOf({ workspaceId, audienceId: null, email: requested.email, now }),
    ...toContactFields(requested),
  }
  try {
    await commit([...buildAudienceAssertion(contact), insertContact(contact)])
  } catch (error) {
    if (error instanceof ConstraintViolated) throw await buildConflictRefusal(read, contact)
    if (error instanceof WriteConflict && contact.audience_id !== null)
      await requireAudience(read, workspaceId, contact.audience_id)
    throw error
  }
  return contact
}

/** Undefined means that there is no such contact. Rejects with a Refusal: `audience-not-found` or `conflict`. */
export async function updateContact(
  { read, commit }: Store,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  requested: RequestedContact,
  now: number,
): Promise<Contact | undefined> {
  const before = await contactById(read, workspaceId, id)
  const change = toContactFields(requested)
  if (before === undefined || Object.keys(change).length === 0) return before
  const after = { ...before, ...change }
  try {
    const stays = change.audience_id === undefined ? [] : buildAudienceAssertion(after)
    await commit([...stays, changeContact({ workspaceId, id }, { ...change, updated_at: now })])
  } catch (error) {
    if (error instanceof ConstraintViolated) throw await buildConflictRefusal(read, after)
    if (!(error instanceof WriteConflict)) throw error
    if (typeof change.audience_id === 'string') await requireAudience(read, workspaceId, change.audience_id)
  }
  return contactById(read, workspaceId, id)
}

/** Asserts that the audience of the contact exists, if it has one. */
function buildAudienceAssertion({ workspace_id: workspaceId, audience_id: id }: Contact): readonly Write[] {
  return id === null ? [] : [assertAudienceExists({ workspaceId, id })]
}

function toContactFields({
  email,
  first_name,
  last_name,
  audience_id,
  subscribed,
  metadata,
}: RequestedContact): Partial<ContactFields> {
  return {
    ...(email === undefined ? {} : { email, email_key: email.toLowerCase() }),
    ...(first_name === undefined ? {} : { first_name }),
    ...(last_name === undefined ? {} : { last_name }),
    ...(audience_id === undefined ? {} : { audience_id }),
    ...(subscribed === undefined ? {} : { subscribed: subscribed ? 1 : 0 }),
    ...(metadata === undefined ? {} : { metadata: toJson(metadata) }),
  }
}

async function buildConflictRefusal(
  read: Read,
  { workspace_id, audience_id, email, email_key }: Contact,
): Promise<Refusal> {
  const existing = await findContactInAudience(read, workspace_id, audience_id, email_key)
  const where = audience_id === null ? 'among the contacts without an audience' : 'in this audience'
  return new Refusal('conflict', `${email} is ${where} already`, {
    email,
    audience_id,
    ...(existing === undefined ? {} : { contact_id: existing.id }),
  })
}
