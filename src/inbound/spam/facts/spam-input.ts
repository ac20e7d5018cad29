/**
 * Builds the input of spam scoring from a parsed message.
 *
 * No content makes it throw: an address list that cannot be parsed is empty.
 *
 * Limits: 1,000 fields, 8 KB of each value; 500,000 characters of text and of HTML.
 */
import { readFieldValue } from '../../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { parseAuthors, parseMailboxList, truncateList } from '../../../base/mail/mailbox-list.js'
import { parseMessageDate } from '../../../base/mail/message-date.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { ParsedMessage } from '../../../records/messages/mime/mime-parts-protocol.js'
import { scanMimeOutline } from './mime-outline.js'
import type { SpamAuthentication, SpamField, SpamMessage, SpamOrigin } from './spam-message.js'

const MAX_FIELDS = 1_000
const MAX_VALUE = 8_192
const MAX_BODY = 500_000
/** Fields of one name that are parsed as address lists, and mailboxes of all of them. */
const MAX_LISTS = 10
const MAX_MAILBOXES = 200

/** The facts about a message apart from its bytes. */
export interface SpamContext {
  /** Null for a message from a file. Then its topmost Received field or its Date is used. */
  readonly receivedAt: number | null
  readonly origin: SpamOrigin | null
  readonly authentication: SpamAuthentication | null
}

export function buildSpamMessage({ raw, header, parts }: ParsedMessage, context: SpamContext): SpamMessage {
  const outline = scanMimeOutline(raw, header)
  const fields = header.fields.slice(0, MAX_FIELDS).map((field) => ({
    name: field.name,
    value: readFieldValue(raw, field).slice(0, MAX_VALUE),
  }))
  return {
    fields,
    subject: decodeHeaderText(fields.find(({ name }) => name === 'subject')?.value ?? ''),
    from: readMailboxes(fields, 'from', parseAuthors),
    replyTo: readMailboxes(fields, 'reply-to', parseMailboxList),
    to: readMailboxes(fields, 'to', parseMailboxList),
    text: parts.text?.slice(0, MAX_BODY) ?? null,
    html: parts.html?.slice(0, MAX_BODY) ?? null,
    attachments: parts.attachments.map(({ filename, content_type, size }) => ({
      filename,
      contentType: content_type,
      size,
    })),
    parts: outline.parts,
    isAmbiguous: parts.ambiguous,
    pages: outline.pages,
    size: raw.length,
    receivedAt: context.receivedAt ?? readArrivalTime(fields),
    origin: context.origin,
    authentication: context.authentication,
  }
}

function readArrivalTime(fields: readonly SpamField[]): number {
  const value = (name: string): string => fields.find((field) => field.name === name)?.value ?? ''
  const received = value('received')
  const dates = [parseMessageDate(received.slice(received.lastIndexOf(';') + 1)), parseMessageDate(value('date'))]
  return dates.find((date) => date !== null) ?? 0
}

function readMailboxes<Entry>(
  fields: readonly SpamField[],
  name: string,
  parse: (list: string) => readonly Entry[],
): readonly Entry[] {
  try {
    const values = fields.filter((field) => field.name === name).slice(0, MAX_LISTS)
    // A value of the full length may have been cut within its last mailbox.
    return values.flatMap(({ value }) => parse(truncateList(value, MAX_VALUE - 1))).slice(0, MAX_MAILBOXES)
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}
