/**
 * Remembers what the earlier lines of a file say about each contact, for a preview, which writes nothing. A later line with the
 * same address is then judged as the import judges it. It has only what the lines say, as text, and not the contacts,
 * which may have much more metadata than the file.
 */
import { type Json, parseJson, toJson } from '../../base/storage/tables/columns.js'
import type { ContactLine } from './contact-columns.js'
import type { Contact, Metadata } from './contacts.js'

/** A field that no line has set is absent. */
type LineChange = Partial<Pick<Contact, 'first_name' | 'last_name'>> &
  Pick<Contact, 'subscribed'> & {
    readonly metadata?: Metadata
  }

export class EarlierLines {
  /** The keys are those of the addresses. */
  private readonly changes = new Map<string, Json<LineChange>>()

  has(key: string): boolean {
    return this.changes.has(key)
  }

  /** Adds a line that is accepted. `subscribed` is what the import makes of it. */
  add(line: ContactLine, subscribed: Contact['subscribed']): void {
    const { first_name, last_name, metadata } = line
    const key = line.email.toLowerCase()
    const before = this.find(key)
    const change = {
      ...before,
      ...(first_name === undefined ? {} : { first_name }),
      ...(last_name === undefined ? {} : { last_name }),
      ...(metadata === undefined ? {} : { metadata: { ...before?.metadata, ...metadata } }),
      subscribed,
    }
    this.changes.set(key, toJson(change))
  }

  /** The contact after the lines. */
  applyTo(contact: Contact): Contact {
    const change = this.find(contact.email_key)
    if (change === null) return contact
    const { metadata, ...values } = change
    if (metadata === undefined) return { ...contact, ...values }
    return { ...contact, ...values, metadata: toJson({ ...parseJson(contact.metadata), ...metadata }) }
  }

  private find(key: string): LineChange | null {
    const change = this.changes.get(key)
    return change === undefined ? null : parseJson(change)
  }
}
