/**
 * Builds the content of a reply to an inbound email. Pure.
 *
 * The reply goes to the Reply-To of that email, or to From if there is none (RFC 5322 section 3.6.2). Its sender is the
 * address that received the email, and it joins the email's thread (section 3.6.4).
 */
import { tryParseForeignAddress } from '../../base/mail/address.js'
import { findFields, readFieldValue, scanHeader } from '../../base/mail/header-fields.js'
import { type Mailbox, parseMailboxList } from '../../base/mail/mailbox-list.js'
import { isDisplayName, type NamedAddress } from '../../base/mail/named-address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import type { Attachment, CustomField, RequestedBody, RequestedContent } from './message-content.js'

/** The most octets of References. They leave room for the parent within the limit of a header field. */
const MAX_REFERENCES = 7_000
/** The most addresses of Reply-To, so that an external sender cannot make a user write to many people. */
const MAX_REPLY_RECIPIENTS = 5
const MAX_SUBJECT = 998
const plainId = /^<[\x21-\x7e]{1,498}>$/
const replyPrefix = /^\s*re(?:\s*\[\d+\])?\s*:/i

interface Reply {
  readonly html: RequestedBody | null
  readonly text: RequestedBody | null
  readonly attachments: readonly Attachment[]
}

type AnsweredEmail = Pick<
  InboundEmail,
  'envelope_to' | 'from_email' | 'from_name' | 'message_id' | 'reference_ids' | 'subject'
>

/** `raw` is the inbound message, if it is still stored. Throws a Refusal if the message has no address to reply to. */
export function buildReplyContent(
  email: AnsweredEmail,
  raw: Buffer | undefined,
  { html, text, attachments }: Reply,
): RequestedContent {
  const [from] = parseJson(email.envelope_to).map((address) => ({ address, name: '' }))
  if (from === undefined) throw new Error('an inbound email has no recipient')
  return {
    from,
    to: findReplyRecipients(email, raw),
    cc: [],
    bcc: [],
    replyTo: [],
    subject: buildReplySubject(email.subject),
    html,
    text,
    fields: buildThreadFields(email),
    attachments,
    inlineImages: [],
  }
}

function findReplyRecipients({ from_email, from_name }: AnsweredEmail, raw: Buffer | undefined): NamedAddress[] {
  const replyTo = raw === undefined ? [] : toNamedAddresses(readReplyTo(raw))
  const to =
    replyTo.length > 0 ? replyTo : toNamedAddresses([{ address: tryParseForeignAddress(from_email), name: from_name }])
  if (to.length > 0) return to
  throw new Refusal('invalid-parameter', 'the email has no address to reply to', { field: 'id' })
}

function readReplyTo(raw: Buffer): readonly Mailbox[] {
  try {
    const [field] = findFields(scanHeader(raw), 'reply-to')
    return field === undefined ? [] : parseMailboxList(readFieldValue(raw, field)).slice(0, MAX_REPLY_RECIPIENTS)
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}

function toNamedAddresses(list: readonly Mailbox[]): NamedAddress[] {
  return list.flatMap(({ address, name }) =>
    address === null ? [] : [{ address, name: isDisplayName(name) ? name : '' }],
  )
}

function buildReplySubject(subject: string): string {
  return replyPrefix.test(subject) ? subject : `Re: ${subject}`.slice(0, MAX_SUBJECT).trimEnd()
}

/**
 * Builds the fields of the thread. The parent is last (RFC 5322 section 3.6.4); a long thread keeps its first and its
 * latest ids.
 */
function buildThreadFields({ message_id: parent, reference_ids }: AnsweredEmail): CustomField[] {
  if (parent === null || !plainId.test(parent)) return []
  const [first, ...others] = parseJson(reference_ids).filter((id) => plainId.test(id) && id !== parent)
  const latest: string[] = []
  let octets = parent.length + (first?.length ?? 0) + 2
  for (const id of others.reverse()) {
    octets += id.length + 1
    if (octets > MAX_REFERENCES) break
    latest.unshift(id)
  }
  return [
    { name: 'In-Reply-To', value: parent },
    { name: 'References', value: [...(first === undefined ? [] : [first]), ...latest, parent].join(' ') },
  ]
}
