/**
 * Builds the fields of an inbound record from its parsed message, and the event that announces it. Pure; it never
 * throws: what cannot be read is empty.
 *
 * Limits: the first 200 addresses of a list, and 50 references: the first of the thread and its last ones (RFC
 * 5322 section 3.6.4 puts the parent last). Lists are read from the first 8 KB of their fields, references from
 * the last 64 KB.
 */

import { type Address, localPartOf } from '../../../base/mail/address.js'
import { findFields, type Header, readFieldValue } from '../../../base/mail/header-fields.js'
import { readAuthors, readHeaderMailboxes } from '../../../base/mail/header-mailboxes.js'
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import { findAuthor, type Mailbox } from '../../../base/mail/mailbox-list.js'
import { isMessageId } from '../../../base/mail/message-id.js'
import { type Json, parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { EventPayloads } from '../../../records/events/payloads.js'
import type { InboundContent, InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { attachmentNameOf } from '../../../records/messages/mime/attachment-name.js'
import type { ParsedMessage } from '../../../records/messages/mime/mime-parts-protocol.js'

const MAX_ADDRESSES = 200
const MAX_REFERENCES = 50
const MAX_SUBJECT = 998
/** Attachments of which an event tells, and characters of the name of each. */
const MAX_ATTACHMENTS = 100
const MAX_FILENAME = 255
/** Characters. */
const MAX_REFERENCES_LENGTH = 65_536

/** The facts about an inbound message once it is parsed and before it has a spam score. */
export type InboundSummary = Omit<InboundContent, 'spam_status' | 'spam_score' | 'spam_report'> & {
  readonly in_reply_to: string | null
  readonly attachments: readonly AttachmentSummary[]
}

interface AttachmentSummary {
  readonly filename: string
  readonly content_type: string
  readonly size: number
}

export function summarizeInbound({ raw, header, parts }: ParsedMessage): InboundSummary {
  const value = (name: string): string => firstValueOf(raw, header, name)
  const author = findAuthor(readAuthors(raw, header))
  const messageId = value('message-id')
  return {
    message_id: isMessageId(messageId) ? messageId : null,
    reference_ids: toJson(parseReferenceIds(value('references'), value('in-reply-to'))),
    from_email: author?.address ?? '',
    from_name: author?.name ?? '',
    to_emails: toAddressList(readHeaderMailboxes(raw, header, 'to')),
    cc_emails: toAddressList(readHeaderMailboxes(raw, header, 'cc')),
    subject: decodeHeaderText(value('subject'), MAX_SUBJECT),
    has_html: parts.html === null ? 0 : 1,
    has_text: parts.text === null ? 0 : 1,
    attachment_count: parts.attachments.length,
    in_reply_to: parseReferenceIds('', value('in-reply-to'))[0] ?? null,
    attachments: parts.attachments.slice(0, MAX_ATTACHMENTS).map((attachment, place) => ({
      filename: attachmentNameOf(attachment, place).slice(0, MAX_FILENAME),
      content_type: attachment.content_type,
      size: attachment.size,
    })),
  }
}

/** The payload of `email.received`: what an app can know without fetching the email. */
export function buildReceivedData(
  email: Pick<InboundEmail, 'id' | 'envelope_to'>,
  summary: InboundSummary,
  verdict: Pick<InboundContent, 'spam_status' | 'spam_score'>,
): EventPayloads['email.received'] {
  const to = parseJson(summary.to_emails)
  const cc = parseJson(summary.cc_emails)
  return {
    inbound_email_id: email.id,
    from: summary.from_email,
    from_name: summary.from_name,
    // A blind copy has no recipients in its header: those of the envelope are shown.
    to: to.length > 0 ? to : parseJson(email.envelope_to),
    cc: cc.length > 0 ? cc : null,
    subject: summary.subject,
    has_html: summary.has_html === 1,
    has_text: summary.has_text === 1,
    attachment_count: summary.attachment_count,
    message_id: summary.message_id,
    in_reply_to: summary.in_reply_to,
    references: parseJson(summary.reference_ids),
    envelope_to: parseJson(email.envelope_to),
    plus: findDetail(parseJson(email.envelope_to)),
    spam_status: verdict.spam_status,
    spam_score: verdict.spam_score === null ? null : verdict.spam_score / 100,
    attachments: summary.attachments.map((attachment, place) => ({ id: `${email.id}.${place}`, ...attachment })),
  }
}

/** What stands behind the first `+` in the local part of the first address that has one (RFC 5233). */
function findDetail(addresses: readonly Address[]): string | null {
  for (const address of addresses) {
    const localPart = localPartOf(address)
    const plus = localPart.indexOf('+')
    if (plus !== -1) return localPart.slice(plus + 1).replace(/"$/, '')
  }
  return null
}

/** The ids of a thread, oldest first; In-Reply-To if there are no References. */
export function parseReferenceIds(references: string, inReplyTo: string): string[] {
  const extractIds = (text: string): readonly string[] | null => text.slice(-MAX_REFERENCES_LENGTH).match(/<[^<>\s]+>/g)
  const ids = (extractIds(references) ?? extractIds(inReplyTo) ?? []).filter(isMessageId)
  const distinct = [...new Set(ids)]
  const [first, ...others] = distinct
  if (first === undefined || distinct.length <= MAX_REFERENCES) return distinct
  return [first, ...others.slice(1 - MAX_REFERENCES)]
}

function firstValueOf(raw: Buffer, header: Header, name: string): string {
  const [field] = findFields(header, name)
  return field === undefined ? '' : readFieldValue(raw, field)
}

function toAddressList(list: readonly Mailbox[]): Json<readonly string[]> {
  const known: string[] = []
  for (const { address } of list) if (address !== null && known.length < MAX_ADDRESSES) known.push(address)
  return toJson(known)
}
