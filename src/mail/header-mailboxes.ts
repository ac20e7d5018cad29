/**
 * The mailboxes in the To, Cc or Reply-To fields of a message, for records and display.
 *
 * Only the entries in the first `MAX_LIST_LENGTH` characters of all fields of one name are read: a long list
 * of recipients is no fault, and no decision depends on the rest.
 */
import { findFields, type Header, readFieldValue } from './header-fields.js'
import { MAX_LIST_LENGTH, type Mailbox, parseMailboxList, truncateList } from './mailbox-list.js'
import { Refusal } from './refusal.js'

export function readHeaderMailboxes(raw: Buffer, header: Header, name: string): readonly Mailbox[] {
  let room = MAX_LIST_LENGTH
  return findFields(header, name).flatMap((field) => {
    const list = room === 0 ? '' : truncateList(readFieldValue(raw, field), room)
    room = Math.max(room - field.end + field.start, 0)
    try {
      return parseMailboxList(list)
    } catch (error) {
      if (error instanceof Refusal) return []
      throw error
    }
  })
}
