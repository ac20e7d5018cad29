/**
 * The mailboxes of a From, To, Cc or Reply-To value (RFC 5322 section 3.4).
 *
 * Groups are flattened. What stands in the place of an address and is none comes out
 * with `address: null`. Two addresses without a comma between them come out as one, the
 * other its name: where every author counts, ask `isUnambiguous` first.
 *
 * Limit: `MAX_LIST` characters of value. A longer one is refused unread, by `mailboxes` and by
 * `isUnambiguous`; `listWithin` cuts it for who can do with its first mailboxes.
 */
import addressparser from 'nodemailer/lib/addressparser'
import { type Address, tryParseAddress } from './address.js'
import { decodeHeaderText } from './header-text.js'
import { Refusal } from './refusal.js'

export interface Mailbox {
  /** Null: not an address. */
  readonly address: Address | null
  /** Decoded, for display; empty where there is none. */
  readonly name: string
}

/** 8 KB: a hundred mailboxes with long names. */
export const MAX_LIST_LENGTH = 8192

/** `value` is unfolded and not decoded: encoded words are names, never syntax. */
export function parseMailboxList(value: string): readonly Mailbox[] {
  const simple = parseSimpleMailbox(value)
  if (simple !== null) return [simple]
  if (value.length > MAX_LIST_LENGTH) throw buildTooLongRefusal()
  const entries = addressparser(value, { flatten: true })
  return entries.map(({ address, name }) => ({ address: tryParseAddress(address), name: decodeHeaderText(name) }))
}

/** The whole entries in the first `room` characters of `value`. */
export function truncateList(value: string, room: number = MAX_LIST_LENGTH): string {
  return value.length <= room ? value : value.slice(0, Math.max(value.lastIndexOf(',', room), 0))
}

const bareAddress = /^[^\s<>@]+@[^\s<>@]+$/
const bracketedAddress = /^[^<>]*<[^\s<>]*>$/

/**
 * Is every address of the list one that all programs read alike? Each mailbox is an address
 * alone, or a phrase and one address in angle brackets, with nothing behind it.
 */
export function isUnambiguous(value: string): boolean {
  if (value.length > MAX_LIST_LENGTH) throw buildTooLongRefusal()
  const plain = maskWords(value)
  if (plain === null) return false
  const list = plain.replace(/(^|[,;])[^<>,;:@]*:/g, '$1')
  return list
    .split(/[,;]/)
    .map((mailbox) => mailbox.trim())
    .every((mailbox) => mailbox === '' || bareAddress.test(mailbox) || bracketedAddress.test(mailbox))
}

/** Cannot run past the next question mark, so all tries together look at each character a few times. */
const encodedWord = /=\?[^?\s]*\?[bq]\?[^?\s]*\?=/iy

/**
 * `value` with a letter for each quoted string and encoded word and a blank for each comment:
 * what stands in them is no address. Null where a quoted string or comment never closes, or
 * a comment holds another: some readers take what follows for part of it, and others do not.
 */
function maskWords(value: string): string | null {
  const kept: string[] = []
  let at = 0
  for (const { index } of value.matchAll(/["(]|=\?/g)) {
    if (index < at) continue
    const end = findWordEnd(value, index)
    if (end === -1) return null
    if (end === index) continue
    kept.push(value.slice(at, index), value[index] === '(' ? ' ' : 'w')
    at = end
  }
  return kept.join('') + value.slice(at)
}

/** After the word that begins at `start`; `start`: there is none; -1: it never ends. */
function findWordEnd(value: string, start: number): number {
  if (value[start] === '"') return findClosing(value, start + 1, '"', '')
  if (value[start] === '(') return findClosing(value, start + 1, ')', '(')
  encodedWord.lastIndex = start
  return encodedWord.test(value) ? encodedWord.lastIndex : start
}

/** After the first `closing` from `from` on that no backslash escapes; -1: none, or `forbidden` comes first. */
function findClosing(value: string, from: number, closing: string, forbidden: string): number {
  for (let at = from; at < value.length; at += 1) {
    const char = value[at]
    if (char === closing) return at + 1
    if (char === forbidden) return -1
    if (char === '\\') at += 1
  }
  return -1
}

function buildTooLongRefusal(): Refusal {
  return new Refusal('malformed-message', `an address field is longer than ${MAX_LIST_LENGTH} characters`)
}

/**
 * The forms that nearly every address field has: `user@host.example`, `<user@host.example>` and
 * `Some Name <user@host.example>`, in plain ASCII without quotes, comments or encoded words. They skip
 * the parser.
 */
const simpleForm =
  /^(?:(?:([\w!#$%&'*+-]+(?: [\w!#$%&'*+-]+)*) )?<([\w.!#$%&'*+/-]+@[\w.-]+)>|([\w.!#$%&'*+/-]+@[\w.-]+))$/

/** Null: another form. What it returns is what `parseMailboxList` returns. */
export function parseSimpleMailbox(value: string): { readonly address: Address; readonly name: string } | null {
  if (value.length > 320) return null
  const [, name = '', inBrackets, alone = ''] = simpleForm.exec(value) ?? []
  const address = tryParseAddress(inBrackets ?? alone)
  return address === null ? null : { address, name }
}
