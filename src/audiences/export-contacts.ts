/** The contacts of an audience as a CSV file, in pieces: the columns that an import knows, and two moments. */
import { timestamp } from '../platform/clock.js'
import { csvLine } from '../platform/csv/cells.js'
import type { Read } from '../storage/prepared.js'
import { type ContactFilter, contactPages } from './contact-list.js'
import type { Contact } from './contacts.js'

const columns = ['id', 'email', 'first_name', 'last_name', 'subscribed', 'metadata', 'created_at', 'updated_at']
/** Contacts that are read at once: some milliseconds. */
const PAGE = 250

/** Newest first. Whoever is added meanwhile is not in it. */
export async function* contactsCsv(read: Read, filter: ContactFilter): AsyncGenerator<string> {
  yield csvLine(columns)
  for await (const page of contactPages(read, filter, PAGE)) yield page.map(lineOf).join('')
}

function lineOf(contact: Contact): string {
  const { id, email, first_name, last_name, subscribed, metadata, created_at, updated_at } = contact
  return csvLine([
    id,
    email,
    first_name ?? '',
    last_name ?? '',
    subscribed === 1 ? 'true' : 'false',
    metadata === '{}' ? '' : metadata,
    timestamp(created_at),
    timestamp(updated_at),
  ])
}
