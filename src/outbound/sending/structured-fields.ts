/**
 * Encodes structured header fields that a client may set on a composed message, with text that is not ASCII. Pure.
 *
 * RFC 2047 section 5 allows encoded words only in phrases and comments, never within an address, a URL or a token. So
 * only the phrases of these fields are encoded. Fields that are not in the table are unstructured text.
 */
import { isUnambiguous, parseMailboxList } from '../../base/mail/mailbox-list.js'
import { keysOf } from '../../base/platform/records.js'

/** A piece of a value: a phrase or the text of a comment may be encoded; plain text is ASCII. */
export interface ValuePiece {
  readonly kind: 'phrase' | 'comment' | 'plain'
  readonly text: string
}

/** The elements of a value: mailboxes, a phrase and an id, URLs in angle brackets, phrases, or only ASCII. */
type Syntax = 'mailboxes' | 'list-id' | 'urls' | 'phrases' | 'ascii'

const namesBySyntax: Readonly<Record<Syntax, readonly string[]>> = {
  mailboxes: [
    ...['disposition-notification-to', 'return-receipt-to', 'errors-to', 'x-confirm-reading-to', 'mail-reply-to'],
    ...['mail-followup-to', 'resent-from', 'resent-sender', 'resent-to', 'resent-cc', 'resent-reply-to'],
    ...['apparently-to', 'delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'original-from', 'author'],
    ...['original-to', 'original-cc', 'x-original-from', 'x-errors-to', 'x-rcpt-to'],
  ],
  'list-id': ['list-id'],
  urls: [
    ...['list-unsubscribe', 'list-subscribe', 'list-help', 'list-post', 'list-owner', 'list-archive', 'archived-at'],
  ],
  phrases: ['keywords'],
  ascii: [
    ...[
      'list-unsubscribe-post',
      'precedence',
      'auto-submitted',
      'importance',
      'priority',
      'sensitivity',
      'tls-required',
    ],
    ...[
      'x-priority',
      'x-msmail-priority',
      'x-auto-response-suppress',
      'expires',
      'expiry-date',
      'reply-by',
      'autocrypt',
    ],
    ...['resent-date', 'resent-message-id', 'supersedes', 'obsoletes', 'original-message-id', 'accept-language'],
    ...['thread-index', 'bimi-selector', 'require-recipient-valid-since', 'disposition-notification-options', 'x-face'],
    ...['authentication-results', 'received-spf', 'arc-seal', 'arc-message-signature', 'arc-authentication-results'],
    ...['deferred-delivery', 'latest-delivery-time', 'conversion', 'message-context', 'language', 'solicitation'],
    ...['original-recipient', 'delivery-date', 'incomplete-copy', 'x-mozilla-draft-info', 'face'],
  ],
}

const syntaxByName: ReadonlyMap<string, Syntax> = new Map(
  keysOf(namesBySyntax).flatMap((syntax) => namesBySyntax[syntax].map((name): [string, Syntax] => [name, syntax])),
)

/** Returns the pieces of a value, or what is wrong with it, or null if the field is unstructured or all ASCII. */
export function readStructuredValue(name: string, value: string): readonly ValuePiece[] | string | null {
  const syntax = syntaxByName.get(name.toLowerCase())
  if (syntax === undefined || isAscii(value)) return null
  switch (syntax) {
    case 'mailboxes':
      return readMailboxes(value)
    case 'list-id':
      return readListId(value)
    case 'urls':
      return readUrls(value)
    case 'phrases':
      return joinPieces(value.split(',').map((text) => [{ kind: 'phrase', text: text.trim() }]))
    case 'ascii':
      return 'must be ASCII: this field cannot have other characters'
  }
}

function readMailboxes(value: string): readonly ValuePiece[] | string {
  const mailboxes = isUnambiguous(value) ? parseMailboxList(value) : []
  const found = mailboxes.map(({ address, name }): readonly ValuePiece[] | null => {
    if (address === null || !isAscii(address)) return null
    return name === '' ? [plain(`<${address}>`)] : [{ kind: 'phrase', text: name }, plain(` <${address}>`)]
  })
  const pieces = found.filter((one) => one !== null)
  if (pieces.length === 0 || pieces.length < found.length)
    return 'must be mail addresses in ASCII, with or without a name, such as Jörg <app@example.com>, separated by commas'
  return joinPieces(pieces)
}

/** RFC 2919. */
function readListId(value: string): readonly ValuePiece[] | string {
  const [, phrase = '', id = ''] = /^([^<>]*)(<[\x21-\x3b\x3d\x3f-\x7e]+>)\s*$/.exec(value) ?? []
  if (id === '') return 'must be a name and an id in ASCII, such as Täglich <daily.example.com>'
  return [{ kind: 'phrase', text: phrase.trim().replace(/^"(.*)"$/, '$1') }, plain(` ${id}`)]
}

/** Reads URLs in angle brackets, and comments (RFC 2369). */
function readUrls(value: string): readonly ValuePiece[] | string {
  const pieces = [...value.matchAll(/<([^<>]*)>|\(([^()]*)\)|[^<(]+|./g)].map(([all, url, comment]) => {
    if (url !== undefined) return readUrl(url.trim())
    if (comment !== undefined) return [plain('('), { kind: 'comment', text: comment } as const, plain(')')]
    return isAscii(all) ? [plain(all)] : null
  })
  const known = pieces.filter((piece) => piece !== null)
  return known.length < pieces.length ? 'must be URLs in angle brackets, such as <https://example.com/a>' : known.flat()
}

/**
 * Reads a URL. The host becomes an A-label; everything else that is not ASCII is percent-encoded. Returns null if the
 * text is no URL.
 */
function readUrl(url: string): readonly ValuePiece[] | null {
  if (isAscii(url)) return [plain(`<${url}>`)]
  return URL.canParse(url) ? [plain(`<${new URL(url).href}>`)] : null
}

function plain(text: string): ValuePiece {
  return { kind: 'plain', text }
}

function joinPieces(items: readonly (readonly ValuePiece[])[]): readonly ValuePiece[] {
  return items.flatMap((item, place) => (place === 0 ? item : [plain(', '), ...item]))
}

function isAscii(text: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(text)
}
