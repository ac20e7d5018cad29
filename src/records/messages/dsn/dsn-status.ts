/**
 * The machine-readable part of a DSN: message/delivery-status (RFC 3464 section 2), or
 * message/global-delivery-status if an address is not ASCII (RFC 6533 section 4).
 *
 * A remote server's text cannot leave its field: it is put on one line and folded by us, and in the ASCII form
 * every other character becomes a question mark.
 */
import { needsUtf8 } from '../../../base/mail/address.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import { toPrintableAscii } from '../../../base/mail/printable.js'
import { type DsnRecipient, type DsnReport, toOneLine, wrapText } from './dsn-report.js'

interface DeliveryStatus {
  readonly type: 'message/delivery-status' | 'message/global-delivery-status'
  /** Groups of fields with CRLF line ends. */
  readonly text: string
}

export function buildDeliveryStatus(report: DsnReport): DeliveryStatus {
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
