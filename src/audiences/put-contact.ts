/**
 * Contacts come in and change one by one: an address that the audience has, and an audience
 * that is not there, are told apart from each other and from what is our own fault.
 *
 * What is judged is judged inside the commit; afterwards only the words are looked for.
 */
import type { Address } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, ConstraintViolated, Missed, type Write } from '../storage/writer/write.js'
import { audienceStays, foundAudience } from './audiences.js'
import type { Metadata } from './contacts.js'
import { type Contact, type ContactFields, changeContact, contactById, contactIn, insertContact } from './contacts.js'

export interface Records {
  readonly read: Read
  readonly commit: Commit
}

/** As a client says it; undefined: it says nothing of it. */
export interface WantedContact {
  readonly email?: Address | undefined
  readonly first_name?: string | null | undefined
  readonly last_name?: string | null | undefined
  readonly audience_id?: string | null | undefined
  readonly subscribed?: boolean | undefined
  readonly metadata?: Metadata | undefined
}

/** Rejects with a Refusal: audience-not-found, conflict. */
export async function addContact(
  { read, commit }: Records,
  workspaceId: string,
  wanted: WantedContact & { readonly email: Address },
  now: number,
): Promise<Contact> {
  const contact: Contact = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    audience_id: null,
    first_name: null,
    last_name: null,
    subscribed: 1,
    metadata: '{}',
    created_at: now,
    updated_at: now,
    ...keptFields(wanted),
    email: wanted.email,
    email_key: wanted.email.toLowerCase(),
  }
  try {
    await commit([...audienceOf(contact), insertContact(contact)])
  } catch (error) {
    if (error instanceof ConstraintViolated) throw taken(read, contact)
    if (error instanceof Missed && contact.audience_id !== null) foundAudience(read, workspaceId, contact.audience_id)
    throw error
  }
  return contact
}

/** Undefined: there is no such contact. Rejects with a Refusal: audience-not-found, conflict. */
export async function alterContact(
  { read, commit }: Records,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
  wanted: WantedContact,
  now: number,
): Promise<Contact | undefined> {
  const before = contactById(read, workspaceId, id)
  const change = keptFields(wanted)
  if (before === undefined || Object.keys(change).length === 0) return before
  const after = { ...before, ...change }
  try {
    const stays = change.audience_id === undefined ? [] : audienceOf(after)
    await commit([...stays, changeContact({ workspaceId, id }, { ...change, updated_at: now })])
  } catch (error) {
    if (error instanceof ConstraintViolated) throw taken(read, after)
    if (!(error instanceof Missed)) throw error
    if (typeof change.audience_id === 'string') foundAudience(read, workspaceId, change.audience_id)
  }
  return contactById(read, workspaceId, id)
}

/** Where it goes into an audience, that one is there. */
function audienceOf({ workspace_id: workspaceId, audience_id: id }: Contact): readonly Write[] {
  return id === null ? [] : [audienceStays({ workspaceId, id })]
}

function keptFields({
  email,
  first_name,
  last_name,
  audience_id,
  subscribed,
  metadata,
}: WantedContact): Partial<ContactFields> {
  return {
    ...(email === undefined ? {} : { email, email_key: email.toLowerCase() }),
    ...(first_name === undefined ? {} : { first_name }),
    ...(last_name === undefined ? {} : { last_name }),
    ...(audience_id === undefined ? {} : { audience_id }),
    ...(subscribed === undefined ? {} : { subscribed: subscribed ? 1 : 0 }),
    ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
  }
}

function taken(read: Read, { workspace_id, audience_id, email, email_key }: Contact): Refusal {
  const there = contactIn(read, workspace_id, audience_id, email_key)
  const where = audience_id === null ? 'among the contacts without an audience' : 'in this audience'
  return new Refusal('conflict', `${email} is ${where} already`, {
    email,
    audience_id,
    ...(there === undefined ? {} : { contact_id: there.id }),
  })
}
