/** The loop check by counting Received fields (RFC 5321 section 6.3), for messages that we submit or receive. */
import { findFields, type Header } from './header-fields.js'
import { Refusal } from './refusal.js'

const MAX_RECEIVED = 50

/** Throws a Refusal `mail-loop`. */
export function checkHopCount(header: Header): void {
  if (findFields(header, 'received').length > MAX_RECEIVED) {
    throw new Refusal('mail-loop', `more than ${MAX_RECEIVED} Received fields: the message is in a mail loop`)
  }
}
