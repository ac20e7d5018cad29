/**
 * Checks the header fields that a client may set on a composed message. Pure.
 *
 * Fields that this server writes are refused, because readers disagree about duplicates, and so are service header
 * fields. Message-ID, In-Reply-To and References may be set if they are well-formed; the last two name ids of other
 * messages, which may lack the at sign.
 */
import { isMessageId } from '../../base/mail/message-id.js'
import { findLineFault } from '../../base/mail/named-address.js'
import { REFERENCE_FIELD } from '../../base/mail/recipient-token.js'
import { isServiceField } from './service-headers.js'
import { readStructuredValue } from './structured-fields.js'

export const MAX_CUSTOM_FIELDS = 50
/** The most octets of one value. */
const MAX_FIELD_VALUE = 8_192
/**
 * The most characters of a name, and of a piece without blanks: together they fit a line of 998 octets (RFC 5322
 * section 2.1.1).
 */
const MAX_FIELD_NAME = 76
const MAX_PIECE_LENGTH = 900

/** RFC 5322 section 3.6.8. */
const fieldNamePattern = /^[\x21-\x39\x3b-\x7e]+$/
const reservedFields = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'resent-bcc',
  'reply-to',
  'subject',
  'date',
  'sender',
  'dkim-signature',
  'return-path',
  'received',
  'mime-version',
  REFERENCE_FIELD,
])
const messageIdFields = new Set(['in-reply-to', 'references'])

/** Returns what is wrong with this field, as the predicate of a sentence, or null if nothing is. */
export function findCustomFieldFault(name: string, value: string): string | null {
  const lower = name.toLowerCase()
  if (!fieldNamePattern.test(name) || name.length > MAX_FIELD_NAME) {
    return `is not the name of a header field: printable ASCII without blanks and colon, at most ${MAX_FIELD_NAME} characters`
  }
  if (reservedFields.has(lower) || lower.startsWith('content-') || isServiceField(lower)) {
    return 'cannot be set here: the service writes this field itself'
  }
  const lineFault = findLineFault(value)
  if (lineFault !== null) return lineFault
  if (Buffer.byteLength(value) > MAX_FIELD_VALUE) return `must have at most ${MAX_FIELD_VALUE} octets`
  if (lower === 'message-id' && !isPlainId(value)) return 'must be one message id, such as <id@example.com>'
  if (messageIdFields.has(lower) && !value.split(/[ \t]+/).every((id) => foreignId.test(id))) {
    return 'must be message ids, such as <id@example.com>, separated by blanks'
  }
  const structured = readStructuredValue(lower, value)
  if (typeof structured === 'string') return structured
  return hasLongPiece(value)
    ? `must have a blank after at most ${MAX_PIECE_LENGTH} characters, to be folded there`
    : null
}

const foreignId = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,498}>$/

/** Tells whether text is a message id without UTF-8, so that the message needs no SMTPUTF8. */
function isPlainId(text: string): boolean {
  return isMessageId(text) && /^[\x21-\x7e]+$/.test(text)
}

/**
 * Tells whether a piece is too long. Blanks belong to the piece after them. Text that is not ASCII becomes encoded
 * words, which are short.
 */
function hasLongPiece(value: string): boolean {
  if (value.length <= MAX_PIECE_LENGTH || /[^\t\x20-\x7e]/.test(value)) return false
  return value.split(/(?<=[^ \t])(?=[ \t])/).some((piece) => piece.length > MAX_PIECE_LENGTH)
}
