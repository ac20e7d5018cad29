/**
 * The mailboxes of a From, To, Cc or Reply-To value (RFC 5322 section 3.4).
 *
 * Groups are flattened. What stands in the place of an address and is none comes out
 * with `address: null`. Two addresses without a comma between them come out as one, the
 * other its name: where every author counts, ask `isUnambiguous` first.
 *
 * Limits: 128 KB of value, 5,000 mailboxes; a longer list is refused.
 */
import addressparser from 'nodemailer/lib/addressparser'
import { type Address, addressOrNull } from './address.js'
import { headerText } from './header-text.js'
import { Refusal } from './refusal.js'
import { simpleMailbox } from './simple-mailbox.js'

export interface Mailbox {
  /** Null: not an address. */
  readonly address: Address | null
  /** Decoded, for display; empty where there is none. */
  readonly name: string
}

const MAX_LIST = 131_072
const MAX_MAILBOXES = 5000

/** `value` is unfolded and not decoded: encoded words are names, never syntax. */
export function mailboxes(value: string): readonly Mailbox[] {
  const simple = simpleMailbox(value)
  if (simple !== null) return [simple]
  if (value.length > MAX_LIST) throw tooLong()
  const entries = addressparser(value, { flatten: true })
  if (entries.length > MAX_MAILBOXES) throw tooLong()
  return entries.map(({ address, name }) => ({ address: addressOrNull(address), name: headerText(name) }))
}

/** Quoted strings, comments (one level), encoded words: whatever stands in them is no address. */
const words = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|=\?[^?\s]*\?[bq]\?[^?\s]*\?=/gi
const bare = /^[^\s<>@]+@[^\s<>@]+$/
const bracketed = /^[^<>]*<[^\s<>]*>$/

/**
 * Is every address of the list one that everybody reads alike? Each mailbox is an address
 * alone, or a phrase and one address in angle brackets, with nothing behind it.
 */
export function isUnambiguous(value: string): boolean {
  const plain = value.replace(words, (word) => (word.startsWith('(') ? ' ' : 'w'))
  // What opens and never closes swallows what follows for some readers, and not for others.
  if (/["(]/.test(plain)) return false
  const list = plain.replace(/(^|[,;])[^<>,;:@]*:/g, '$1')
  return list
    .split(/[,;]/)
    .map((mailbox) => mailbox.trim())
    .every((mailbox) => mailbox === '' || bare.test(mailbox) || bracketed.test(mailbox))
}

function tooLong(): Refusal {
  return new Refusal('malformed-message', `an address list is longer than ${MAX_MAILBOXES} mailboxes or 128 KB`)
}
