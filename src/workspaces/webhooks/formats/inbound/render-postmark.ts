/** Makes the body of an inbound message as Postmark sends it: its parts, and the message itself if it is wanted. */
import { type Header, scanHeader } from '../../../../base/mail/header-fields.js'
import { readHeaderMailboxes } from '../../../../base/mail/header-mailboxes.js'
import type { Mailbox } from '../../../../base/mail/mailbox-list.js'
import { attachmentNameOf } from '../../../../records/messages/mime/attachment-name.js'
import { MessageContent } from '../../../../records/messages/mime/message-content.js'
import type { MimeField } from '../../../../records/messages/mime/mime-parts-protocol.js'
import type { PostmarkFacts } from './body-facts.js'
import { encodeBase64, encodeUtf8 } from './json-pieces.js'

/** Fields that stand outside of `Headers`, or say how the parts were encoded. */
const apart: ReadonlySet<string> = new Set([
  ...['from', 'to', 'cc', 'bcc', 'subject', 'date', 'reply-to', 'mime-version'],
  ...['content-type', 'content-transfer-encoding', 'content-disposition'],
])

interface FullAddress {
  readonly Email: string
  readonly Name: string
  readonly MailboxHash: string
}

export function renderPostmark(raw: Buffer, { fields, headers: own, hasRaw }: PostmarkFacts): Buffer {
  const header = scanHeader(raw)
  const content = new MessageContent(raw, header)
  const { html, text, attachments, headers } = content.readParts()
  const document = JSON.stringify({
    ...fields,
    ...readAddresses(raw, header),
    Date: findValue(headers, 'date'),
    ReplyTo: findValue(headers, 'reply-to'),
    TextBody: text ?? '',
    HtmlBody: html ?? '',
    StrippedTextReply: '',
    Headers: chooseHeaders(headers, own),
  })
  const pieces = attachments.flatMap((_, place) => renderAttachment(content, place))
  return Buffer.concat([
    Buffer.from(`${document.slice(0, -1)},"Attachments":[`),
    ...pieces.slice(1),
    Buffer.from(']'),
    ...(hasRaw ? [Buffer.from(',"RawEmail":'), ...encodeUtf8(raw)] : []),
    Buffer.from('}'),
  ])
}

function readAddresses(raw: Buffer, header: Header): Readonly<Record<string, unknown>> {
  const of = (name: string): readonly FullAddress[] => readHeaderMailboxes(raw, header, name).flatMap(toFull)
  const [from] = of('from')
  const [to, cc, bcc] = [of('to'), of('cc'), of('bcc')]
  return {
    From: from?.Email ?? '',
    FromName: from?.Name ?? '',
    FromFull: from ?? { Email: '', Name: '', MailboxHash: '' },
    ...{ To: listOf(to), ToFull: to },
    ...{ Cc: listOf(cc), CcFull: cc },
    ...{ Bcc: listOf(bcc), BccFull: bcc },
  }
}

function toFull({ name, address }: Mailbox): readonly FullAddress[] {
  if (address === null) return []
  const localPart = address.slice(0, address.lastIndexOf('@'))
  const plus = localPart.indexOf('+')
  return [{ Email: address, Name: name ?? '', MailboxHash: plus === -1 ? '' : localPart.slice(plus + 1) }]
}

function listOf(addresses: readonly FullAddress[]): string {
  return addresses
    .map(({ Email, Name }) => (Name === '' ? Email : `"${Name.replace(/["\\]/g, '')}" <${Email}>`))
    .join(', ')
}

function findValue(headers: readonly MimeField[], name: string): string {
  return headers.find((field) => field.name.toLowerCase() === name)?.value ?? ''
}

function chooseHeaders(headers: readonly MimeField[], own: PostmarkFacts['headers']): PostmarkFacts['headers'] {
  const ours = new Set(own.map(({ Name }) => Name.toLowerCase()))
  const kept = headers.filter(({ name }) => !apart.has(name.toLowerCase()) && !ours.has(name.toLowerCase()))
  return [...own, ...kept.map(({ name, value }) => ({ Name: name, Value: value }))]
}

/** Begins with a comma, of which the first is left out. */
function renderAttachment(content: MessageContent, place: number): readonly Buffer[] {
  const file = content.readFile(place)
  if (file === null) return []
  const { attachment, bytes } = file
  const fields = JSON.stringify({
    Name: attachmentNameOf(attachment, place),
    ContentType: attachment.content_type,
    ContentLength: attachment.size,
    ContentID: attachment.content_id ?? '',
  })
  return [Buffer.from(','), Buffer.from(`${fields.slice(0, -1)},"Content":`), ...encodeBase64(bytes), Buffer.from('}')]
}
