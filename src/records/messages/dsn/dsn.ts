/**
 * Builds delivery status notifications: multipart/report with a human-readable part, a machine-readable part and the
 * message or its header (RFC 3461, 3464, 6522; 6533 for UTF-8).
 *
 * Pure. The caller sends them from the null return path, so that reports never cause reports (RFC 3464 section 2).
 *
 * The complete message is returned only with a failure, if the sender did not request only the header, and up to 50 KB
 * (RFC 3461 section 4.3). Parts that are not ASCII are 8bit.
 */
import { isAscii } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type Address, needsUtf8 } from '../../../base/mail/address.js'
import type { DsnNotify } from '../../../base/mail/dsn-parameters.js'
import { findFields, type Header, readFieldValue, scanHeader } from '../../../base/mail/header-fields.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import { isMessageId } from '../../../base/mail/message-id.js'
import { toOneLine, toPrintableAscii } from '../../../base/mail/printable.js'
import { type DsnKind, type DsnRecipient, type DsnReport, wrapText } from './dsn-report.js'
import { formatDsnSubject, formatDsnText } from './dsn-text.js'

export interface Dsn extends DsnReport {
  readonly from: Address
  readonly to: Address
  readonly now: number
  /** A new and unguessable id, from which the boundary is made. */
  readonly messageId: string
}

interface Part {
  readonly type: string
  readonly bytes: Buffer
}

const MAX_RETURNED = 51_200

const notifyKeywords: Record<DsnKind, DsnNotify> = { failed: 'failure', delayed: 'delay', success: 'success' }

/**
 * Tells whether a recipient's NOTIFY requests such a report. Without a NOTIFY, only failures and delays are reported
 * (RFC 3461 section 4.1).
 */
export function shouldSendDsn(notify: readonly DsnNotify[] | null, kind: DsnKind): boolean {
  return notify === null ? kind !== 'success' : notify.includes(notifyKeywords[kind])
}

/** Builds the complete message, header and body. */
export function buildDsn(dsn: Dsn): Buffer {
  const header = scanHeader(dsn.original)
  const returnsMessage = dsn.kind === 'failed' && dsn.ret !== 'headers' && dsn.original.length <= MAX_RETURNED
  const status = buildDeliveryStatus(dsn)
  const parts: readonly Part[] = [
    {
      type: 'text/plain; charset=utf-8',
      bytes: Buffer.from(formatDsnText(dsn, returnsMessage ? 'message' : 'header')),
    },
    { type: status.type, bytes: Buffer.from(status.text) },
    returnsMessage ? toMessagePart(dsn.original, header) : toHeaderPart(dsn.original, header),
  ]
  const boundary = `=_${createHash('sha256').update(dsn.messageId).digest('hex').slice(0, 32)}`
  return Buffer.concat([
    Buffer.from(buildDsnHeader(dsn, header, boundary, encodingFieldOf(parts))),
    ...parts.flatMap((part) => [
      Buffer.from(`--${boundary}\r\nContent-Type: ${part.type}\r\n${encodingFieldOf([part])}\r\n`),
      part.bytes,
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
}

function buildDsnHeader(dsn: Dsn, original: Header, boundary: string, encoding: string): string {
  return [
    `From: Mail Delivery System <${dsn.from}>`,
    `To: <${dsn.to}>`,
    `Subject: ${formatDsnSubject(dsn)}`,
    `Date: ${formatMessageDate(dsn.now)}`,
    `Message-ID: ${dsn.messageId}`,
    ...formatReferences(dsn.original, original),
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="${boundary}"`,
    `${encoding}\r\n`,
  ].join('\r\n')
}

/** Formats the fields that put the report into the thread of its message. */
function formatReferences(raw: Buffer, header: Header): readonly string[] {
  const field = findFields(header, 'message-id')[0]
  const id = field === undefined ? '' : readFieldValue(raw, field)
  return isMessageId(id) ? [`In-Reply-To: ${id}`, `References: ${id}`] : []
}

function toMessagePart(raw: Buffer, header: Header): Part {
  const global = !isAscii(raw.subarray(0, header.end))
  return { type: global ? 'message/global' : 'message/rfc822', bytes: raw }
}

/** Returns the header, or the first fields of a very long one. */
function toHeaderPart(raw: Buffer, { fields }: Header): Part {
  const end = fields.findLast((field) => field.end <= MAX_RETURNED)?.end ?? 0
  const bytes = raw.subarray(0, end)
  return { type: isAscii(bytes) ? 'text/rfc822-headers' : 'message/global-headers', bytes }
}

function encodingFieldOf(parts: readonly Part[]): string {
  return `Content-Transfer-Encoding: ${parts.every(({ bytes }) => isAscii(bytes)) ? '7bit' : '8bit'}\r\n`
}

interface DeliveryStatus {
  readonly type: 'message/delivery-status' | 'message/global-delivery-status'
  /** Groups of fields with CRLF line ends. */
  readonly text: string
}

/**
 * Builds the machine-readable part of a DSN: message/delivery-status (RFC 3464 section 2), or
 * message/global-delivery-status if an address is not ASCII (RFC 6533 section 4).
 *
 * The text of a remote server cannot leave its field: this function puts it on one line and folds it. In the ASCII form
 * every other character becomes a question mark.
 */
function buildDeliveryStatus(report: DsnReport): DeliveryStatus {
  const { envid, reportingMta, arrivedAt, recipients } = report
  const global = recipients.some(({ address, orcpt }) => needsUtf8(address) || !isPrintable(orcpt ?? ''))
  const writeField: FieldWriter = (name, value) => (value === null ? '' : formatField(name, value, global))
  const groups = [
    writeField('Original-Envelope-Id', envid) +
      writeField('Reporting-MTA', `dns; ${reportingMta}`) +
      writeField('Arrival-Date', formatMessageDate(arrivedAt)),
    ...recipients.map((recipient) => formatRecipientFields(recipient, writeField)),
  ]
  return { type: global ? 'message/global-delivery-status' : 'message/delivery-status', text: groups.join('\r\n') }
}

type FieldWriter = (name: string, value: string | null) => string

function formatRecipientFields(recipient: DsnRecipient, field: FieldWriter): string {
  const { address, orcpt, action, status, diagnostic, remoteMta, lastAttemptAt, willRetryUntil } = recipient
  const spoken = remoteMta === null ? 'x-posthorn' : 'smtp'
  return [
    field('Original-Recipient', orcpt),
    field('Final-Recipient', `${needsUtf8(address) ? 'utf-8' : 'rfc822'}; ${address}`),
    field('Action', action),
    field('Status', status),
    field('Remote-MTA', remoteMta === null ? null : `dns; ${remoteMta}`),
    field('Diagnostic-Code', diagnostic === null ? null : `${spoken}; ${diagnostic}`),
    field('Last-Attempt-Date', lastAttemptAt === null ? null : formatMessageDate(lastAttemptAt)),
    field(
      'Will-Retry-Until',
      willRetryUntil === null || action !== 'delayed' ? null : formatMessageDate(willRetryUntil),
    ),
  ].join('')
}

function formatField(name: string, value: string, global: boolean): string {
  const line = toOneLine(value)
  const text = global ? line : toPrintableAscii(line)
  return `${wrapText(`${name}: ${text}`, ' ').join('\r\n').slice(1)}\r\n`
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}
