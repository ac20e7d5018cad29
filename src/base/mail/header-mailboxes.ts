/**
 * The authors in the From fields of a message, and the mailboxes in its To, Cc or Reply-To fields, for records and display.
 *
 * Only the entries in the first `MAX_LIST_LENGTH` characters of all fields of one name are read: a long list
 * of recipients is no fault, and no decision depends on the rest.
 */
import { findFields, type Header, readFieldValue } from './header-fields.js'
import {
  type Author,
  MAX_LIST_LENGTH,
  type Mailbox,
  parseAuthors,
  parseMailboxList,
  truncateList,
} from './mailbox-list.js'
import { Refusal } from './refusal.js'

export function readHeaderMailboxes(raw: Buffer, header: Header, name: string): readonly Mailbox[] {
  return readLists(raw, header, name, parseMailboxList)
}

/** The entries of all From fields. */
export function readAuthors(raw: Buffer, header: Header): readonly Author[] {
  return readLists(raw, header, 'from', parseAuthors)
}

function readLists<Entry>(
  raw: Buffer,
  header: Header,
  name: string,
  parse: (list: string) => readonly Entry[],
): readonly Entry[] {
  let room = MAX_LIST_LENGTH
  return findFields(header, name).flatMap((field) => {
    if (room === 0) return []
    const value = readFieldValue(raw, field)
    const list = truncateList(value, room)
    // The name of the field and its line end count; folds do not.
    room = Math.max(room - value.length - `${name}: \r\n`.length, 0)
    try {
      return parse(list)
    } catch (error) {
      if (error instanceof Refusal) return []
      throw error
    }
  })
}
