/** The fields of contacts in requests and answers, with their limits. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { JsonText } from '../../../base/platform/json-text.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import { type Contact, MAX_NAME } from '../../../workspaces/audiences/contacts.js'
import { metadataObject } from '../http/input/metadata.js'
import { timestamp, uuid } from '../http/input/values.js'
import { stringifyList } from '../http/output/json-in-steps.js'
import { addressHint } from '../imports/imports.js'

const personName = z
  .string(`allowed: up to ${MAX_NAME} characters, or null`)
  .max(MAX_NAME, `allowed: up to ${MAX_NAME} characters`)
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'allowed: no control characters')
  .nullable()

const metadata = metadataObject('A change replaces it completely.')

/** Any text. A text that is not a UUID is answered like an unknown id. */
export const audienceId = z.string('allowed: the id of an audience, or null').max(100, 'allowed: the id of an audience')
export const subscribed = z.boolean('allowed: true or false')

export const optionalFields = {
  first_name: personName.optional(),
  last_name: personName.optional(),
  audience_id: audienceId.nullable().optional().meta({ description: 'Null: in no audience.' }),
  metadata: metadata.optional(),
}

const contactFields = {
  object: z.literal('contact'),
  id: uuid,
  email: z.string(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  audience_id: uuid.nullable(),
  subscribed: z.boolean(),
  unsubscribed: z.boolean().meta({ description: 'The contrary of `subscribed`.' }),
  metadata: z.record(z.string(), z.unknown()),
  created_at: timestamp,
}

export const createdContact = z
  .strictObject({
    ...contactFields,
    hints: z
      .array(addressHint)
      .optional()
      .meta({ description: 'What may be wrong with the address; absent: nothing.' }),
  })
  .meta({ id: 'CreatedContact' })
export const contact = z.strictObject({ ...contactFields, updated_at: timestamp }).meta({ id: 'Contact' })

export function toCreatedContact(row: Contact): z.output<typeof createdContact> {
  return { ...fieldsOf(row), metadata: parseJson(row.metadata), created_at: iso(row.created_at) }
}

export function toContactResource(row: Contact): z.output<typeof contact> {
  return { ...toCreatedContact(row), updated_at: iso(row.updated_at) }
}

/**
 * The resources of many contacts. The metadata stay the texts that are stored: to parse and to write those of a page takes
 * tens of milliseconds if they have thousands of names.
 */
export function toContactList(rows: readonly Contact[]): Promise<JsonText> {
  return stringifyList(rows, async (row) => toListItem(row))
}

interface KnownContact {
  readonly row: Contact
  /** Null if email is sent to the address. */
  readonly suppressed: SuppressionReason | null
}

/** The same with the reason why no email is sent to an address. */
export function toListedContacts(contacts: readonly KnownContact[]): Promise<JsonText> {
  return stringifyList(contacts, async ({ row, suppressed }) => ({ ...toListItem(row), suppressed }))
}

function toListItem(row: Contact) {
  return {
    ...fieldsOf(row),
    metadata: new JsonText(Buffer.from(row.metadata)),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}

function fieldsOf(row: Contact): Omit<z.output<typeof createdContact>, 'metadata' | 'created_at' | 'hints'> {
  return {
    object: 'contact',
    id: row.id,
    email: row.email,
    first_name: row.first_name,
    last_name: row.last_name,
    audience_id: row.audience_id,
    subscribed: row.subscribed === 1,
    unsubscribed: row.subscribed === 0,
  }
}
