/**
 * The mailboxes of a From, To, Cc or Reply-To value (RFC 5322 section 3.4).
 *
 * Groups are flattened. Text in the place of an address that is none has `address: null`. Two addresses
 * without a comma between them become one mailbox with the other as its name: a caller that must see every
 * author calls `isUnambiguous` first.
 *
 * Limit: `MAX_LIST_LENGTH` characters. `parseMailboxList` and `isUnambiguous` refuse a longer value unread;
 * `truncateList` cuts it for callers that need only its first mailboxes.
 */
import addressparser from 'nodemailer/lib/addressparser'
import { type Address, readDomainName, tryParseIncomingAddress } from './address.js'
import { decodeHeaderText } from './header-text.js'
import { Refusal } from './refusal.js'

export interface Mailbox {
  /** Null if it is not a valid address. */
  readonly address: Address | null
  /** Decoded, for display, or empty if there is none. */
  readonly name: string
}

/** An entry of a From field. */
export interface Author extends Mailbox {
  /**
   * The address as it is written, its domain as DNS knows it. Empty if the entry has none. It need not be valid: there
   * are mailboxes with local parts that break the rules (`a..b@`).
   */
  readonly written: string
}

/** The author of a message, as records, lists and spam rules name it. */
interface ShownAuthor {
  readonly address: string
  readonly name: string
}

/** 8 KB hold a hundred mailboxes with long names. */
export const MAX_LIST_LENGTH = 8192

const MAX_SIMPLE_LENGTH = 320
const simpleForm =
  /^(?:(?:([\w!#$%&'*+-]+(?: [\w!#$%&'*+-]+)*) |"([\w!#$%&'*+.,-]+(?: [\w!#$%&'*+.,-]+)*)" )?<([\w.!#$%&'*+/-]+@[\w.-]+)>|([\w.!#$%&'*+/-]+@[\w.-]+))$/

/**
 * The forms that nearly every address field has: `user@host.example`, `<user@host.example>`,
 * `Some Name <user@host.example>` and `"Name, Some" <user@host.example>`, in plain ASCII without escapes, comments or encoded
 * words. A shortcut around the parser that knows all other forms: it returns what `parseMailboxList` returns, and
 * null says nothing of the value.
 */
export function parseSimpleMailbox(value: string): { readonly address: Address; readonly name: string } | null {
  if (value.length > MAX_SIMPLE_LENGTH) return null
  const [, name, quoted = '', inBrackets, alone = ''] = simpleForm.exec(value) ?? []
  const address = tryParseIncomingAddress(inBrackets ?? alone)
  return address === null ? null : { address, name: name ?? quoted }
}

/** `value` is unfolded and not decoded, because encoded words are names and never syntax. */
export function parseMailboxList(value: string): readonly Mailbox[] {
  const simple = parseSimpleMailbox(value)
  if (simple !== null) return [simple]
  return parseEntries(value).map(({ address, name }) => ({
    address: tryParseIncomingAddress(address),
    name: decodeHeaderText(name),
  }))
}

/**
 * All entries of a From value. Entries without an address are included: they are no authors, and only their names are
 * read.
 */
export function parseAuthors(value: string): readonly Author[] {
  const simple = parseSimpleMailbox(value)
  if (simple !== null) return [{ ...simple, written: simple.address }]
  return parseEntries(value).map((entry) => {
    const address = tryParseIncomingAddress(entry.address)
    return { address, name: decodeHeaderText(entry.name), written: address ?? withPlainDomain(entry.address) }
  })
}

function parseEntries(value: string): readonly { readonly address: string; readonly name: string }[] {
  if (value.length > MAX_LIST_LENGTH) throw buildTooLongRefusal()
  return addressparser(value, { flatten: true })
}

/** DNS drops invisible characters of a name, whether or not a valid address may have them. */
function withPlainDomain(written: string): string {
  const at = written.lastIndexOf('@') + 1
  const domain = readDomainName(written.slice(at))
  return domain === null ? written : `${written.slice(0, at)}${domain}`
}

/** 320 are 64 octets of local part and 255 of domain, as in RFC 5321. */
const MAX_SHOWN_LENGTH = 320
/**
 * It must have both parts, and no character that would hide or reorder others. An encoded word is text in any place
 * (RFC 2047).
 */
const shownAddress = /^(?!=\?)[^\s\p{C}\p{Z}<>(),;"@]+@[^\s\p{C}\p{Z}<>(),;"@]+$/u

/**
 * The first author with a valid address, or else with one that can be shown. Null if there is none.
 *
 * DMARC has a verdict other than `permerror` only if all authors are of one domain, so this is an author that it
 * judged.
 */
export function findAuthor(authors: readonly Author[]): ShownAuthor | null {
  const valid = authors.find(({ address }) => address !== null)
  if (valid !== undefined) return { address: valid.written, name: valid.name }
  const shown = authors.find(({ written }) => written.length <= MAX_SHOWN_LENGTH && shownAddress.test(written))
  return shown === undefined ? null : { address: shown.written, name: shown.name }
}

/** The complete entries in the first `room` characters of `value`. */
export function truncateList(value: string, room: number = MAX_LIST_LENGTH): string {
  return value.length <= room ? value : value.slice(0, Math.max(value.lastIndexOf(',', room), 0))
}

const bareAddress = /^[^\s<>@]+@[^\s<>@]+$/
const bracketedAddress = /^[^<>]*<[^\s<>]*>$/

/**
 * Whether all programs read the same addresses in this list. Each mailbox must be a bare address, or a phrase and one
 * address in angle brackets with nothing after it.
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

/** Cannot match past the next question mark, so all attempts together read each character a few times. */
const encodedWord = /=\?[^?\s]*\?[bq]\?[^?\s]*\?=/iy

/**
 * `value` with a letter in place of each quoted string and encoded word and a blank in place of each comment, because
 * their content is no address. Null if a quoted string or comment never closes, or a comment holds both another comment
 * and what could be an address: programs that know no nested comments would read it.
 */
function maskWords(value: string): string | null {
  const parts: string[] = []
  let at = 0
  for (const { index } of value.matchAll(/["(]|=\?/g)) {
    if (index < at) continue
    const end = findWordEnd(value, index)
    if (end === -1) return null
    if (end === index) continue
    parts.push(value.slice(at, index), value[index] === '(' ? ' ' : 'w')
    at = end
  }
  return parts.join('') + value.slice(at)
}

/** Offset after the word that begins at `start`. It is `start` if there is no word, and -1 if the word never ends. */
function findWordEnd(value: string, start: number): number {
  if (value[start] === '"') return findQuoteEnd(value, start + 1)
  if (value[start] === '(') return findCommentEnd(value, start + 1)
  encodedWord.lastIndex = start
  return encodedWord.test(value) ? encodedWord.lastIndex : start
}

/** Offset after the first unescaped quote from `from` on, or -1 if there is none. */
function findQuoteEnd(value: string, from: number): number {
  for (let at = from; at < value.length; at += 1) {
    if (value[at] === '"') return at + 1
    if (value[at] === '\\') at += 1
  }
  return -1
}

/** Comments nest (RFC 5322 section 3.2.2). -1 if it never ends, or programs may see an address in it. */
function findCommentEnd(value: string, from: number): number {
  let depth = 1
  let isNested = false
  for (let at = from; at < value.length; at += 1) {
    const char = value[at]
    if (char === '(') {
      depth += 1
      isNested = true
    } else if (char === ')') depth -= 1
    else if (char === '\\') at += 1
    if (depth === 0) return isNested && /[@<>,;:"]/.test(value.slice(from, at)) ? -1 : at + 1
  }
  return -1
}

function buildTooLongRefusal(): Refusal {
  return new Refusal('malformed-message', `an address field is longer than ${MAX_LIST_LENGTH} characters`)
}
