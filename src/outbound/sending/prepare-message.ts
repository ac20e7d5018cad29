/**
 * Makes the bytes that are sent from the bytes that a client submitted. Pure.
 *
 * It puts one Received field on top, with host, protocol and id, and nothing about the client. It adds Date and
 * Message-ID if they are missing. It removes Bcc, Return-Path, the reference field of a message that this server sent
 * before, service header fields, and all but the last of a field that a message may have once. All other bytes stay as
 * they are.
 *
 * It refuses a message without From or with several (RFC 5322 section 3.6), a From without an address or longer than
 * `MAX_LIST_LENGTH`, and more Received fields than a message has that is not in a loop (RFC 5321 section 6.3).
 */
import { explainAddress, formatForDisplay, tryParseAddress } from '../../base/mail/address.js'
import {
  findFields,
  type Header,
  type HeaderField,
  readFieldValue,
  spliceToPieces,
} from '../../base/mail/header-fields.js'
import { readHeaderMailboxes } from '../../base/mail/header-mailboxes.js'
import { decodeHeaderText } from '../../base/mail/header-text.js'
import { checkHopCount } from '../../base/mail/hop-count.js'
import { isUnambiguous, MAX_LIST_LENGTH, parseMailboxList, parseSimpleMailbox } from '../../base/mail/mailbox-list.js'
import { formatMessageDate } from '../../base/mail/message-date.js'
import { createMessageId, isMessageId } from '../../base/mail/message-id.js'
import { REFERENCE_FIELD } from '../../base/mail/recipient-token.js'
import { Refusal } from '../../base/mail/refusal.js'
import { isServiceField } from './service-headers.js'
import type { MessageSummary } from './submitted-message.js'

/** This is far more than mail programs write, and far fewer than the parser can handle. */
const MAX_FIELDS = 1_000

interface MessageOrigin {
  readonly hostname: string
  /** A name such as `ESMTPSA` (RFC 3848), or `HTTPS`. */
  readonly protocol: string
  readonly emailId: string
  readonly now: number
}

const strippedFields = new Set(['bcc', 'resent-bcc', 'return-path', REFERENCE_FIELD])

interface PreparedMessage {
  /** The pieces of the message. Most of them are views of the submitted message. */
  readonly pieces: readonly Buffer[]
  readonly messageId: string
}

/** `rest` follows `raw`, which has the whole header. */
export function prepareMessage(
  raw: Buffer,
  header: Header,
  origin: MessageOrigin,
  rest: readonly Buffer[] = [],
): PreparedMessage {
  const field = findFields(header, 'message-id').at(-1)
  const existingId = field === undefined ? '' : readFieldValue(raw, field)
  const messageId = isMessageId(existingId) ? existingId : createMessageId(origin.emailId, origin.hostname)
  const { hostname, protocol, emailId, now } = origin
  const prepend = `Received: by ${hostname} with ${protocol} id ${emailId};\r\n\t${formatMessageDate(now)}\r\n`
  const added = [
    ...(findFields(header, 'date').length === 0 ? [`Date: ${formatMessageDate(now)}\r\n`] : []),
    ...(existingId === '' ? [`Message-ID: ${messageId}\r\n`] : []),
  ]
  const remove = findRemovedFields(header, existingId === '')
  return {
    pieces: [...spliceToPieces(raw, header, { remove, prepend, append: added.join('') }), ...rest],
    messageId: existingId === '' ? messageId : existingId,
  }
}

/** Finds the fields to remove. An empty Message-ID is removed, because a real one is added. */
function findRemovedFields(header: Header, withMessageId: boolean): HeaderField[] {
  const repeated = new Set(findRepeatedFields(header))
  return header.fields.filter(
    (field) =>
      repeated.has(field) ||
      strippedFields.has(field.name) ||
      isServiceField(field.name) ||
      (withMessageId && field.name === 'message-id'),
  )
}

/** The fields that may occur once (RFC 5322 section 3.6). Several From fields are refused. */
const singleFields: ReadonlySet<string> = new Set([
  ...['date', 'sender', 'reply-to', 'to', 'cc', 'message-id', 'in-reply-to', 'references', 'subject'],
])

/** Finds the fields that may occur once but occur again below. Readers disagree about which of them counts. */
export function findRepeatedFields({ fields }: Header): readonly HeaderField[] {
  const seen = new Set<string>()
  return fields
    .toReversed()
    .filter(({ name }) => singleFields.has(name) && (seen.has(name) || !seen.add(name)))
    .toReversed()
}

/** Returns authors, recipients and subject. Throws a Refusal `malformed-message` or `mail-loop`. */
export function summarizeMessage(raw: Buffer, header: Header): MessageSummary {
  if (header.fields.length > MAX_FIELDS) {
    throw new Refusal('malformed-message', `more than ${MAX_FIELDS} header fields`)
  }
  checkHopCount(header)
  const from = readAuthors(raw, header)
  const subject = findFields(header, 'subject').at(-1)
  const repeated = findRepeatedFields(header)
  const sent = { ...header, fields: header.fields.filter((field) => !repeated.includes(field)) }
  return {
    from,
    to: readHeaderMailboxes(raw, sent, 'to'),
    cc: readHeaderMailboxes(raw, sent, 'cc'),
    replyTo: readHeaderMailboxes(raw, sent, 'reply-to'),
    subject: subject === undefined ? '' : decodeHeaderText(readFieldValue(raw, subject)).slice(0, 998),
  }
}

/** Returns the authors of the message. Throws a Refusal `malformed-message`. */
export function readAuthors(raw: Buffer, header: Header): MessageSummary['from'] {
  const [only, ...others] = findFields(header, 'from')
  if (only === undefined) throw new Refusal('malformed-message', 'the message has no From field', { field: 'from' })
  if (others.length > 0) {
    throw new Refusal('malformed-message', `the message has ${others.length + 1} From fields, allowed: one`, {
      field: 'from',
    })
  }
  return parseAuthors(readFromValue(raw, only))
}

function parseAuthors(value: string): MessageSummary['from'] {
  const simple = parseSimpleMailbox(value)
  if (simple !== null && tryParseAddress(simple.address) !== null) return [simple]
  if (!isUnambiguous(value)) {
    throw new Refusal('malformed-message', `From: is ambiguous: ${formatForDisplay(value)}`, {
      field: 'from',
      value,
    })
  }
  const authors = parseMailboxList(value).map(({ address, name }) => {
    if (address !== null && tryParseAddress(address) !== null) return { address, name }
    const rule = explainAddress(value, 'not a mail address')
    throw new Refusal('malformed-message', `From: ${rule}: ${formatForDisplay(value)}`, {
      field: 'from',
      value,
    })
  })
  const [first, ...others] = authors
  if (first === undefined) {
    throw new Refusal('malformed-message', `From: names no address: ${formatForDisplay(value)}`, {
      field: 'from',
      value,
    })
  }
  return [first, ...others]
}

function readFromValue(raw: Buffer, field: HeaderField): string {
  const value = readFieldValue(raw, field)
  if (value.length <= MAX_LIST_LENGTH) return value
  const rule = `${value.length} characters of addresses, at most ${MAX_LIST_LENGTH} are allowed`
  throw new Refusal('malformed-message', `From: ${rule}`, { field: 'from' })
}
