/**
 * An answer to mail that came in, as the message that it becomes. Pure.
 *
 * It goes to Reply-To where the mail has one, else to From (RFC 5322 section 3.6.2), comes from
 * the address that the mail was written to, and joins its thread (section 3.6.4).
 */
import { tryParseAddress } from '../mail/address.js'
import { findFields, readFieldValue, scanHeader } from '../mail/header-fields.js'
import { type Mailbox, parseMailboxList } from '../mail/mailbox-list.js'
import { isDisplayName, type NamedAddress } from '../mail/named-address.js'
import { Refusal } from '../mail/refusal.js'
import type { InboundEmail } from '../messages/inbound/inbound-email.js'
import { parseJson } from '../storage/tables/columns.js'
import type { Attachment, CustomField, MessageContent } from './message-content.js'

/** Octets: of what a header field may have, with room for the parent. */
const MAX_REFERENCES = 7_000
/** A list that somebody asks to be answered at is short: nobody is made to write to a crowd. */
const MAX_REPLY_RECIPIENTS = 5
const MAX_SUBJECT = 998
const plainId = /^<[\x21-\x7e]{1,498}>$/
const replyPrefix = /^\s*re(?:\s*\[\d+\])?\s*:/i

export interface Reply {
  readonly html: string | null
  readonly text: string | null
  readonly attachments: readonly Attachment[]
}

type AnsweredEmail = Pick<
  InboundEmail,
  'envelope_to' | 'from_email' | 'from_name' | 'message_id' | 'reference_ids' | 'subject'
>

/** `raw`: the mail that is answered, where it is kept. Throws a Refusal where there is nobody to answer. */
export function buildReplyContent(
  email: AnsweredEmail,
  raw: Buffer | undefined,
  { html, text, attachments }: Reply,
): MessageContent {
  const [from] = parseJson(email.envelope_to).map((address) => ({ address, name: '' }))
  if (from === undefined) throw new Error('an inbound email that was written to nobody')
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
  const wanted = raw === undefined ? [] : toNamedAddresses(readReplyTo(raw))
  const to = wanted.length > 0 ? wanted : toNamedAddresses([{ address: tryParseAddress(from_email), name: from_name }])
  if (to.length > 0) return to
  throw new Refusal('invalid-parameter', 'the email names nobody who could be answered', { field: 'id' })
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

/** The parent stands last; of a long thread the first and the latest stay. */
function buildThreadFields({ message_id: parent, reference_ids }: AnsweredEmail): CustomField[] {
  if (parent === null || !plainId.test(parent)) return []
  const [first, ...others] = parseJson(reference_ids).filter((id) => plainId.test(id) && id !== parent)
  const kept: string[] = []
  let octets = parent.length + (first?.length ?? 0) + 2
  for (const id of others.reverse()) {
    octets += id.length + 1
    if (octets > MAX_REFERENCES) break
    kept.unshift(id)
  }
  return [
    { name: 'In-Reply-To', value: parent },
    { name: 'References', value: [...(first === undefined ? [] : [first]), ...kept, parent].join(' ') },
  ]
}
