/**
 * The mailboxes that a message names in its To, Cc or Reply-To fields, for records and display.
 *
 * Whole entries of the first `MAX_LIST` characters are read, over all fields of the name: a message to a
 * long list of people is no fault, and the rest of it decides nothing.
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
