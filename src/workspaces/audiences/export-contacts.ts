/**
 * Writes the contacts of an audience as a CSV file, in pieces. It has the columns that an import reads, the id and
 * two times.
 */
import { formatTimestamp } from '../../base/platform/clock.js'
import { formatCsvLine } from '../../base/platform/csv/cells.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { type ContactFilter, readContactPages } from './contact-list.js'
import type { Contact } from './contacts.js'

const columns = ['id', 'email', 'first_name', 'last_name', 'subscribed', 'metadata', 'created_at', 'updated_at']
/** Contacts of one read, which takes some milliseconds. */
const PAGE_SIZE = 250

/** The contacts are newest first. The file has none that are added while it is written. */
export async function* exportContacts(read: Read, filter: ContactFilter): AsyncGenerator<string> {
  yield formatCsvLine(columns)
  for await (const page of readContactPages(read, filter, PAGE_SIZE)) yield page.map(formatLine).join('')
}

function formatLine(contact: Contact): string {
  const { id, email, first_name, last_name, subscribed, metadata, created_at, updated_at } = contact
  return formatCsvLine([
    id,
    email,
    first_name ?? '',
    last_name ?? '',
    subscribed === 1 ? 'true' : 'false',
    metadata === '{}' ? '' : metadata,
    formatTimestamp(created_at),
    formatTimestamp(updated_at),
  ])
}
